/** A lake beside its store, while the store changes. DuckDB reads it, as users do. */

import { createHash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../clock.ts';
import { dayMs, type EpochMs, hourMs } from '../../../model/intervals.ts';
import type { Range } from '../../../model/ranges.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { applyRetention } from '../../../store/upkeep/drop-old.ts';
import { writeRetention } from '../../../store/upkeep/retention.ts';
import { askDuckdb, describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { bitcoinHours as hours } from '../../queue/queue-parts.ts';
import { emptyDirectory } from '../../scripts/command.ts';
import { commitPoints } from '../../store/committing.ts';
import { openOwnStore as openStore, type TestStore } from '../../store/open-store.ts';
import { days, digits, february, fill, fillBoth, inStore, january, manifestOf, march, write } from './filled-lake.ts';

/** Every file by path within the lake, with what changes when it is replaced. */
function filesOf(directory: string): Map<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(directory.length + 1), `${statSync(path).ino} ${statSync(path).mtimeMs}`]),
  );
}

/** The paths of {@link filesOf} that differ, without the manifest. */
function differing(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const all = new Set([...before.keys(), ...after.keys()]);
  return [...all].filter((path) => path !== 'manifest.json' && before.get(path) !== after.get(path)).sort();
}

const file = (month: string) =>
  `dataset=candles/exchange=binance/interval=h1/year=2024/month=${Number(month)}/bitcoin_tether.parquet`;

const inLake = (directory: string) =>
  askDuckdb(`
    select exchange, base, quote, interval, year::varchar as year, month::varchar as month, epoch_ms(time)::varchar as at,
           ${['open', 'high', 'low', 'close', 'volume'].map((name) => `${name}::varchar as ${name}`).join(', ')},
           fraction_digits
    from read_parquet('${directory}/dataset=candles/**/*.parquet', hive_partitioning = true) order by time`);

/** Checks the lake against the store, and its manifest against its files. */
async function expectTrue(store: TestStore, directory: string): Promise<void> {
  expect(await inLake(directory)).toEqual(await inStore(store));
  const stated = manifestOf(directory).series.flatMap((one: { months: object[] }) => one.months);
  const files = stated.filter(({ path }: { path?: string }) => path !== undefined);
  expect(files.map(({ path }: { path: string }) => path).sort()).toEqual(
    [...filesOf(directory).keys()].filter((path) => path !== 'manifest.json'),
  );
  for (const { path, sha256, bytes, rows } of files) {
    const content = readFileSync(join(directory, path));
    expect([path, createHash('sha256').update(content).digest('hex'), content.length]).toEqual([path, sha256, bytes]);
    const [counted] = await askDuckdb(`select count(*)::integer as rows from '${join(directory, path)}'`);
    expect(counted).toEqual({ rows });
  }
}

describeNeedingDuckdb('a lake', () => {
  it('holds every covered point with all digits, and is not written again until something changes', async () => {
    const store = await openStore();
    const directory = emptyDirectory();
    const { seriesId } = await fillBoth(store);
    // An open candle, which is outside of coverage.
    await store.database.pool.query(`insert into tidemark.candle_points values ($1, $2, 1, 1, 1, 1, 1)`, [
      seriesId,
      new Date(february + 20 * dayMs),
    ]);
    expect(await write(store, directory)).toMatchObject({
      written: 14,
      files: 14,
      allRows: 37 * 24 + 366,
      refused: [],
    });
    await expectTrue(store, directory);
    const [, candles] = manifestOf(directory).series;
    expect(candles).toMatchObject({
      exchange: 'binance',
      coverage: [{ from: '2024-01-15T00:00:00Z', to: '2024-02-21T00:00:00Z' }],
      rows: 37 * 24,
      months: [
        { month: '2024-01', complete: false, rows: 17 * 24, path: file('01') },
        { month: '2024-02', complete: false, rows: 20 * 24, path: file('02') },
      ],
    });
    const history = await askDuckdb(
      `select distinct asset from read_parquet('${directory}/dataset=asset_history/**/*.parquet')`,
    );
    expect(history).toEqual([{ asset: days.assetId }]);
    const before = filesOf(directory);
    expect(await write(store, directory)).toMatchObject({ written: 0, files: 14 });
    expect(filesOf(directory)).toEqual(before);
  });

  it('writes the month of a revision, of a late point and of new coverage, and no other', async () => {
    const store = await openStore();
    const directory = emptyDirectory();
    const hour = await fillBoth(store);
    const { pool } = store.database;
    await write(store, directory);
    async function expectWritten(...months: string[]): Promise<void> {
      const before = filesOf(directory);
      expect(await write(store, directory)).toMatchObject({ written: months.length });
      expect(differing(before, filesOf(directory))).toEqual(months.map(file));
      await expectTrue(store, directory);
    }
    const revised = new Map([...digits, [february + 5 * hourMs, '7.0']]);
    const day = { startMs: february, endMs: february + dayMs };
    await commitPoints(store.database, { ...hour, window: day, changed: revised });
    await expectWritten('02');
    expect(manifestOf(directory).series[1]).toMatchObject({
      revisions: 1,
      months: [{ revisions: 0 }, { revisions: 1 }],
    });

    await fill(store, hours, { startMs: february + 20 * dayMs, endMs: march + dayMs });
    await expectWritten('02', '03');
    expect(manifestOf(directory).series[1].months[1]).toMatchObject({ complete: true });

    // The source changes a value while its time is not covered, which makes no revision. The coverage is as before
    // afterwards.
    const january20 = { startMs: january + 19 * dayMs, endMs: january + 20 * dayMs };
    await pool.query('update tidemark.series set covered = covered - tstzmultirange(tstzrange($2, $3)) where id = $1', [
      hour.seriesId,
      new Date(january20.startMs),
      new Date(january20.endMs),
    ]);
    await commitPoints(store.database, { ...hour, window: january20, changed: new Map([[january20.startMs, '9']]) });
    expect((await pool.query('select count(*)::int as kept from tidemark.point_revisions')).rows).toEqual([
      { kept: 1 },
    ]);
    await expectWritten('01');

    await pool.query('update tidemark.series set covered = covered - tstzmultirange(tstzrange($2, $3)) where id = $1', [
      hour.seriesId,
      new Date(january20.startMs),
      new Date(january20.endMs),
    ]);
    await expectWritten('01');
    expect(await write(store, directory)).toMatchObject({ written: 0 });

    // Nobody but --check looks at the files.
    rmSync(join(directory, file('01')));
    appendFileSync(join(directory, file('02')), 'x');
    expect(await write(store, directory)).toMatchObject({ written: 0 });
    const before = filesOf(directory);
    expect(await write(store, directory, { check: true })).toMatchObject({ written: 2 });
    expect(differing(before, filesOf(directory))).toEqual([file('01'), file('02')]);
    await expectTrue(store, directory);
  });

  describe('in a month of which retention has dropped the beginning', () => {
    const options = { clock: systemClock };
    async function open() {
      const store = await openStore();
      const directory = emptyDirectory();
      const hour = await fillBoth(store);
      await write(store, directory, options);
      const whole = await inLake(directory);
      await writeRetention(store.database.pool as never, 'candles', '7d');
      await applyRetention(store.database, { ...options, nowMs: march });
      await writeRetention(store.database.pool as never, 'candles', null);
      const more = (window: Range, changed: ReadonlyMap<EpochMs, string> = new Map()) =>
        commitPoints(store.database, { ...hour, window, changed });
      const day = (nth: number) => ({ startMs: february + nth * dayMs, endMs: february + (nth + 1) * dayMs });
      return { store, directory, whole, more, day };
    }

    it('keeps what only the lake has when a new value does not fit, and states no more', async () => {
      const { store, directory, whole, more, day } = await open();
      await more(day(20), new Map([[day(20).startMs, `0.${'0'.repeat(20)}1`]]));
      for (let runs = 0; runs < 2; runs += 1) {
        const before = filesOf(directory);
        expect(await write(store, directory, options)).toMatchObject({
          ...{ written: 0, removed: 0 },
          refused: [{ month: '2024-02' }],
        });
        expect(differing(before, filesOf(directory))).toEqual([]);
        if (runs > 0) expect(filesOf(directory)).toEqual(before);
      }
      expect(await inLake(directory)).toEqual(whole);
      const [, { coverage, months }] = manifestOf(directory).series;
      expect(months[1]).toMatchObject({ path: file('02'), complete: false, refused: expect.any(String) });
      expect(coverage).toEqual([{ from: '2024-01-15T00:00:00Z', to: months[1].keptBefore }]);
      // The value is corrected.
      await more(day(20));
      expect(await write(store, directory, options)).toMatchObject({ written: 1, refused: [] });
      const kept = await inLake(directory);
      expect(kept.slice(0, whole.length)).toEqual(whole);
      expect(kept).toHaveLength(whole.length + 24);
    });
  });

  it('is refused without its manifest, and to another database', async () => {
    const store = await openStore();
    const directory = emptyDirectory();
    await fillBoth(store);
    await write(store, directory);
    const before = filesOf(directory);
    const other = await openStore();
    await fill(other, hours, { startMs: january, endMs: february });
    await expect(write(other, directory)).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
      message: expect.stringContaining('is that of another database'),
    });
    const manifest = readFileSync(join(directory, 'manifest.json'), 'utf8');
    for (const damage of [
      () => appendFileSync(join(directory, 'manifest.json'), '{'),
      () => rmSync(join(directory, 'manifest.json')),
    ]) {
      damage();
      await expect(write(store, directory)).rejects.toMatchObject({ code: 'FILE_NOT_USABLE' });
    }
    expect(differing(before, filesOf(directory))).toEqual([]);
    writeFileSync(join(directory, 'manifest.json'), manifest);
    expect(await write(store, directory)).toMatchObject({ written: 0, removed: 0 });
  });

  it('leaves out a month with a value that its type cannot hold, and says why; text holds every value', async () => {
    const store = await openStore();
    const [directory, asText] = [emptyDirectory(), emptyDirectory()];
    const values = new Map([
      [february, '0.000000000000000000000000000001'],
      [march, '1000000000000000000000000000000000000000000'],
      [march + dayMs, '0.10'],
    ]);
    await fill(store, days, { startMs: january, endMs: march + 5 * dayMs }, values);
    const outcome = await write(store, directory, { doubles: true });
    expect(outcome).toMatchObject({ written: 1, files: 1, allRows: 31 });
    expect(outcome?.refused.map(({ month, reason }) => `${month}: ${reason}`)).toEqual([
      '2024-02: price_usd of 2024-02-01T00:00:00Z has 30 fraction digits; DECIMAL(38, 20) holds 20',
      '2024-03: price_usd of 2024-03-01T00:00:00Z has 43 digits before the point; DECIMAL(38, 20) holds 18',
    ]);
    expect(manifestOf(directory).series[0].coverage).toEqual([
      { from: '2024-01-01T00:00:00Z', to: '2024-02-01T00:00:00Z' },
    ]);
    const again = await write(store, directory);
    expect(again).toMatchObject({ written: 0, refused: [{ month: '2024-02' }, { month: '2024-03' }] });
    await expect(write(store, directory, { decimals: 10 })).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });

    expect(await write(store, asText, { decimals: 'text', doubles: true })).toMatchObject({ files: 3, refused: [] });
    const stored = await store.database.pool.query(
      `select price_usd::text as price_usd, price_usd::float8 as price_usd_double from tidemark.asset_history_points order by time`,
    );
    expect(
      await askDuckdb(
        `select price_usd, price_usd_double from read_parquet('${asText}/**/*.parquet', hive_partitioning = true) order by time`,
      ),
    ).toEqual(stored.rows);
  });

  it('is written by one process at a time', async () => {
    const store = await openStore();
    const directory = emptyDirectory();
    await fill(store, days, { startMs: january, endMs: march });
    // Waits for a lock a quarter of its timeout.
    const database = openDatabase({
      url: store.url,
      applicationName: 'tidemark test',
      maxConnections: 2,
      statementTimeoutMs: 12_000,
    });
    onTestFinished(() => database.close());
    const client = await store.database.pool.connect();
    await client.query(`select pg_advisory_lock(hashtextextended('tidemark lake ' || $1, 0))`, [directory]);
    expect(await write({ ...store, database }, directory)).toBe(null);
    client.release(true);
    expect(await write({ ...store, database }, directory)).toMatchObject({ written: 2 });
  });
});
