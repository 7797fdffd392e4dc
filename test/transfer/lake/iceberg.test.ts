/** A lake of tables of Iceberg. icebird reads the metadata, which is not our code; DuckDB the files that they name. */

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { icebergManifests, icebergMetadata, icebergRead } from 'icebird';
import { expect, it } from 'vitest';
import { dayMs, hourMs } from '../../../model/intervals.ts';
import { describeNeedingClickhouse } from '../../parts/clickhouse.ts';
import { askDuckdb, describeNeedingDuckdb } from '../../parts/duckdb.ts';
import { createTestClock } from '../../parts/test-clock.ts';
import { bitcoinHours as hours } from '../../queue/queue-parts.ts';
import { emptyDirectory } from '../../scripts/command.ts';
import { commitPoints } from '../../store/committing.ts';
import { openOwnStore as openStore } from '../../store/open-store.ts';
import { fetchFiles } from './file-fetch.ts';
import { digits, february, fill, fillBoth, inStore, manifestOf, march, write } from './filled-lake.ts';

const tableUrl = (directory: string, dataset = 'candles') => `file://${directory}/${dataset}`;

/** The files of the present snapshot, or of an earlier one. */
async function filesOf(directory: string, snapshotId?: number) {
  const metadata = await icebergMetadata({ tableUrl: tableUrl(directory) });
  const manifests = await icebergManifests({
    ...metadata,
    ...(snapshotId === undefined ? {} : { 'current-snapshot-id': snapshotId }),
  });
  return manifests.flatMap(({ entries }) => entries);
}

const pathsOf = async (directory: string, snapshotId?: number) =>
  (await filesOf(directory, snapshotId)).map(({ data_file }) => data_file.file_path.replace('file://', '')).sort();

/** As icebird gives them, whatever its types say. */
type Bounds = ReadonlyArray<{ key: number; value: Uint8Array }>;

const valueNames = ['open', 'high', 'low', 'close', 'volume'];

/** Every value of the files of a snapshot, with all digits. */
async function readExactly(directory: string, snapshotId?: number) {
  const paths = await pathsOf(directory, snapshotId);
  return askDuckdb(`
    select exchange, base, quote, interval, extract(year from time)::varchar as year,
           extract(month from time)::varchar as month, epoch_ms(time)::varchar as at,
           ${valueNames.map((name) => `${name}::varchar as ${name}`).join(', ')}, fraction_digits
    from read_parquet([${paths.map((path) => `'${path}'`).join(', ')}], hive_partitioning = false) order by time`);
}

const metadataOf = (directory: string, version: number) =>
  JSON.parse(readFileSync(join(directory, `candles/metadata/v${version}.metadata.json`), 'utf8'));

const parquetIn = (directory: string) =>
  readdirSync(join(directory, 'candles/data'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.parquet'))
    .map((path) => join(directory, 'candles/data', path))
    .sort();

describeNeedingDuckdb('a lake of tables of Iceberg', () => {
  it('is read by another program with every row and digit, schema, partitions and bounds', async () => {
    fetchFiles();
    const store = await openStore();
    const directory = emptyDirectory();
    await fillBoth(store);
    expect(await write(store, directory, { iceberg: true, doubles: true })).toMatchObject({ written: 14, files: 14 });
    expect(await readExactly(directory)).toEqual(await inStore(store));

    const rows = await icebergRead({ tableUrl: tableUrl(directory) });
    const stored = await inStore(store);
    expect(rows).toHaveLength(stored.length);
    const byTime = (a: Record<string, unknown>, b: Record<string, unknown>) => Number(a.time) - Number(b.time);
    expect(rows.sort(byTime).map(({ time, close_double, base }) => [Number(time), close_double, base])).toEqual(
      stored.map(({ at, close, base }) => [Number(at), Number(close), base]),
    );

    const metadata = await icebergMetadata({ tableUrl: tableUrl(directory) });
    expect(metadata).toMatchObject({
      'format-version': 2,
      location: tableUrl(directory),
      'partition-specs': [
        {
          fields: [
            { name: 'exchange', transform: 'identity' },
            { name: 'interval', transform: 'identity' },
            { name: 'time_month', transform: 'month' },
          ],
        },
      ],
    });
    expect(metadata.schemas[0]?.fields.map(({ name, type, required }) => `${name} ${type} ${required}`)).toEqual([
      ...['exchange', 'base', 'quote', 'interval'].map((name) => `${name} string true`),
      'time timestamptz true',
      ...valueNames.map((name) => `${name} decimal(38, 20) true`),
      'fraction_digits string true',
      ...valueNames.map((name) => `${name}_double double true`),
    ]);
    const [first, second] = (await filesOf(directory)).map(({ data_file }) => data_file);
    expect(first?.partition).toEqual({ exchange: 'binance', interval: 'h1', time_month: 54 * 12 });
    expect([first, second].map((file) => Number(file?.record_count))).toEqual([17 * 24, 20 * 24]);
    const idOf = (name: string) => metadata.schemas[0]?.fields.find((field) => field.name === name)?.id;
    const boundOf = (bounds: unknown, name: string) =>
      Buffer.from((bounds as Bounds).find(({ key }) => key === idOf(name))?.value ?? []);
    expect(boundOf(second?.lower_bounds, 'time').readBigInt64LE()).toBe(BigInt(february) * 1000n);
    expect(boundOf(second?.upper_bounds, 'time').readBigInt64LE()).toBe(BigInt(february + 479 * hourMs) * 1000n);
    expect(boundOf(second?.upper_bounds, 'base').toString()).toBe('bitcoin');
    expect(BigInt(`0x${boundOf(second?.upper_bounds, 'close').toString('hex')}`)).toBe(
      12345678901234567810n * 10n ** 18n,
    );
    expect(boundOf(second?.lower_bounds, 'close')).toEqual(Buffer.from([0]));

    // Another dataset is another table.
    expect(await icebergRead({ tableUrl: tableUrl(directory, 'asset_history') })).toHaveLength(366);
  });

  it('commits a change at once, and keeps the files of earlier snapshots for a day', async () => {
    fetchFiles();
    const store = await openStore();
    const directory = emptyDirectory();
    const hour = await fillBoth(store);
    const clock = createTestClock(Date.UTC(2024, 5, 1));
    await write(store, directory, { iceberg: true, clock });
    const before = await readExactly(directory);
    const firstFiles = parquetIn(directory);

    // A run without changes commits nothing.
    expect(await write(store, directory, { clock })).toMatchObject({ written: 0 });
    expect(existsSync(join(directory, 'candles/metadata/v2.metadata.json'))).toBe(false);

    const revised = new Map([...digits, [february + 5 * hourMs, '7.0']]);
    await commitPoints(store.database, {
      ...hour,
      window: { startMs: february, endMs: february + dayMs },
      changed: revised,
    });
    await fill(store, hours, { startMs: february + 20 * dayMs, endMs: march + dayMs });
    clock.jump(clock.now() + hourMs);
    expect(await write(store, directory, { clock })).toMatchObject({ written: 2, files: 15 });
    expect(await readExactly(directory)).toEqual(await inStore(store));
    // Whoever reads the first snapshot still finds it as it was.
    expect(await readExactly(directory, 1)).toEqual(before);
    const entries = await filesOf(directory);
    expect(entries.map(({ status, snapshot_id }) => [status, Number(snapshot_id)])).toEqual([
      [0, 1],
      [1, 2],
      [1, 2],
    ]);
    expect(metadataOf(directory, 2).snapshots.map((one: { summary: object }) => one.summary)).toMatchObject([
      { operation: 'append', 'added-data-files': '2' },
      { operation: 'overwrite', 'added-data-files': '2', 'deleted-data-files': '1', 'total-data-files': '3' },
    ]);

    // A day after it was replaced it goes with the next commit, and only then.
    clock.jump(clock.now() + dayMs + hourMs);
    await write(store, directory, { clock });
    expect(parquetIn(directory)).toEqual(expect.arrayContaining(firstFiles));
    await fill(store, hours, { startMs: march + dayMs, endMs: march + 2 * dayMs });
    await write(store, directory, { clock });
    const third = await pathsOf(directory);
    expect(parquetIn(directory)).toEqual([...new Set([...third, ...(await pathsOf(directory, 2))])].sort());
    expect(metadataOf(directory, 3).snapshots).toHaveLength(2);
    expect(readdirSync(join(directory, 'candles/metadata')).filter((name) => name.endsWith('.avro'))).toHaveLength(4);
    expect(existsSync(join(directory, 'candles/metadata/v1.metadata.json'))).toBe(false);
  });

  it('goes on after a run that was killed between the files, the metadata, the hint and the manifest', async () => {
    fetchFiles();
    const store = await openStore();
    const directory = emptyDirectory();
    await fillBoth(store);
    await write(store, directory, { iceberg: true });
    const manifest = readFileSync(join(directory, 'manifest.json'));
    await fill(store, hours, { startMs: february + 20 * dayMs, endMs: march + dayMs });
    await write(store, directory);
    // The hint and the manifest are those of the run before.
    writeFileSync(join(directory, 'candles/metadata/version-hint.text'), '1');
    writeFileSync(join(directory, 'manifest.json'), manifest);
    await write(store, directory);
    expect(existsSync(join(directory, 'candles/metadata/v3.metadata.json'))).toBe(false);
    await fill(store, hours, { startMs: march + dayMs, endMs: march + 2 * dayMs });
    await write(store, directory);
    expect(readFileSync(join(directory, 'candles/metadata/version-hint.text'), 'utf8')).toBe('3');
    expect(await readExactly(directory)).toEqual(await inStore(store));

    // Files that were never committed, and what is not ours.
    const orphan = join(
      directory,
      'candles/data/exchange=binance/interval=h1/month=2024-01/x-0123456789abcdef.parquet',
    );
    const notes = join(directory, 'candles/notes.txt');
    for (const path of [orphan, notes]) writeFileSync(path, 'x');
    const [damaged = ''] = await pathsOf(directory);
    rmSync(damaged);
    expect(await write(store, directory, { check: true })).toMatchObject({ written: 1 });
    expect([orphan, notes, damaged].map((path) => existsSync(path))).toEqual([false, true, true]);
    expect(await readExactly(directory)).toEqual(await inStore(store));
  });

  it('refuses to commit where another process has, and another kind of lake', async () => {
    const store = await openStore();
    const directory = emptyDirectory();
    await fillBoth(store);
    await write(store, directory, { iceberg: true });
    await expect(write(store, directory, { iceberg: false })).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
      message: `the lake in ${directory} is one of tables of Iceberg`,
    });
    const [, { path }] = manifestOf(directory).series[1].months;
    expect(path).toMatch(
      /^candles\/data\/exchange=binance\/interval=h1\/month=2024-02\/bitcoin_tether-[0-9a-f]{16}\.parquet$/,
    );
    rmSync(join(directory, 'manifest.json'));
    await expect(write(store, directory, { iceberg: true })).rejects.toMatchObject({ code: 'FILE_NOT_USABLE' });
  });
});

describeNeedingClickhouse('ClickHouse', (ask) => {
  it('reads a table with every digit, and skips files by its partitions and bounds', async () => {
    const store = await openStore();
    const directory = emptyDirectory();
    const hour = await fillBoth(store);
    await write(store, directory, { iceberg: true });
    await commitPoints(store.database, { ...hour, window: { startMs: march, endMs: march + dayMs }, changed: digits });
    await write(store, directory);
    const read = () =>
      ask(
        directory,
        `select toUnixTimestamp64Milli(time), toString(open), toString(close) from icebergLocal('${directory}/candles')
           order by time`,
      );
    const stored = (await inStore(store)).map(({ at, open, close }) => [at, open, close]);
    const trimmed = (rows: string[][]) =>
      rows.map((row) => row.map((cell) => cell.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')));
    expect(trimmed(read())).toEqual(trimmed(stored));
    expect(
      ask(
        directory,
        `select count(), min(close) from icebergLocal('${directory}/candles')
           where exchange = 'binance' and interval = 'h1' and time >= '2024-03-01' and time < '2024-04-01'`,
      ),
    ).toEqual([['24', expect.any(String)]]);
  });
});
