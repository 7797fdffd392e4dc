import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { dayMs, hourMs } from '../../../contract/intervals.ts';
import { startVenueSimulator } from '../../../simulator/venues/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { tidemark } from '../command.ts';

const startMs = Date.UTC(2024, 2, 1);
const series = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'h1',
} as const;

/** Two days of hours from one source, and another source of the same market. */
async function open(queue: 'postgres' | 'redis') {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const [binance, bybit] = await Promise.all([
    startVenueSimulator({ profile: 'binance' }),
    startVenueSimulator({ profile: 'bybit' }),
  ]);
  onTestFinished(async () => void (await Promise.all([binance.close(), bybit.close()])));
  const list = join(mkdtempSync(join(tmpdir(), 'tidemark-against-')), 'tidemark.yaml');
  writeFileSync(list, `sources:\n  binance: { url: '${binance.url}' }\n  bybit: { url: '${bybit.url}' }\n`);
  const env: Record<string, string> = {
    DATABASE_URL: url,
    WATCH_LIST: list,
    PLANNING_TICK_MS: '200',
    QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}`,
    ...(queue === 'redis' ? { REDIS_URL: inject('redisUrl') ?? '' } : {}),
  };
  expect((await tidemark(['migrate'], env)).exitCode).toBe(0);
  const market = ['--source', 'binance', '--symbol', 'BTC/USDT', '--interval', 'h1'];
  const range = ['--from', '2024-03-01', '--to', '2024-03-03'];
  expect(await tidemark(['backfill', 'candles', ...market, ...range], env)).toMatchObject({ exitCode: 0 });
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 2,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(() => database.close());
  return { env, binance, bybit, database };
}

function suite(queue: 'postgres' | 'redis') {
  it('finds every difference with both values, and overwrites none', async () => {
    const { env, bybit, database } = await open(queue);
    const verify = ['verify', '--against', 'bybit', '--all'];
    const same = await tidemark([...verify, '--json'], env);
    expect(same).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(same.stdout)).toMatchObject({ compared: 1, points: 48, differing: 0, differences: [] });

    const changed = [3, 17, 40].map((hour) => startMs + hour * hourMs);
    for (const timeMs of changed)
      bybit.revise({ series, timeMs, fromMs: 0, values: { volume: decimalText('7.25') } });
    const points = 'select * from tidemark.candle_points order by time';
    const before = (await database.pool.query(points)).rows;
    const found = await tidemark([...verify, '--json'], env);
    expect(found.exitCode).toBe(7);
    const { differences } = JSON.parse(found.stdout);
    expect(
      differences.map((one: { time: string; there: { volume: string } }) => [one.time, one.there.volume]),
    ).toEqual(changed.map((timeMs) => [new Date(timeMs).toISOString(), '7.25']));
    expect(found.stderr).toMatch(/differ from bybit; nothing was changed; .*source_differences/);
    expect((await tidemark(verify, env)).stdout).toMatch(
      /volume here \S+, at bybit 7\.25[\s\S]*, to the tick of the coarser source: 1 window differs/,
    );
    expect((await database.pool.query(points)).rows).toEqual(before);
    const kept = await database.pool.query(
      `select source, kind, here->>'volume' <> '7.25' as own, there->>'volume' as volume from tidemark.cross_differences
       order by time`,
    );
    expect(kept.rows).toEqual(
      changed.map(() => ({ source: 'bybit', kind: 'changed', own: true, volume: '7.25' })),
    );
    // Nothing that `repair` would request again, and nothing of the series' own source.
    expect((await database.pool.query('select from tidemark.differences')).rowCount).toBe(0);
    expect(await tidemark(['verify', '--all'], env)).toMatchObject({ exitCode: 0 });
    expect((await database.pool.query('select from tidemark.cross_differences')).rowCount).toBe(3);
  });

  it('leaves the windows of a source that bans it for long, and compares those of others', async () => {
    const { env, binance, database } = await open(queue);
    const market = ['--source', 'bybit', '--symbol', 'BTC/USDT', '--interval', 'h1'];
    const range = ['--from', '2024-03-01', '--to', '2024-03-03'];
    expect(await tidemark(['backfill', 'candles', ...market, ...range], env)).toMatchObject({ exitCode: 0 });
    binance.setFaults({ banMs: 2 * dayMs });
    const verified = await tidemark(['verify', '--all', '--json'], env);
    expect(verified).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(
        /WINDOWS_UNANSWERED: 1 window could not be compared, the first: binance accepts no request until /,
      ),
    });
    expect(JSON.parse(verified.stdout)).toMatchObject({ windows: 2, compared: 1, differing: 0 });
    // Banned already.
    expect(await tidemark(['verify', '--all', '--against', 'binance'], env)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('2 windows could not be compared, the first: binance accepts'),
    });
    await database.pool.query(
      `insert into tidemark.differences (series_id, time, seen_at, kind, here)
       select series_id, time, now(), 'missing_there', '{}' from tidemark.candle_points limit 1`,
    );
    expect(await tidemark(['repair'], env)).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('the first: binance accepts no request until '),
    });
  });

  it('compares nothing when the other source has no readable row', async () => {
    const { env, bybit } = await open(queue);
    for (let hour = -2; hour < 50; hour += 1) {
      const timeMs = startMs + hour * hourMs;
      bybit.revise({ series, timeMs, fromMs: 0, values: { high: decimalText('0.1') } });
    }
    const verified = await tidemark(['verify', '--against', 'bybit', '--all'], env);
    expect(verified).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('WINDOWS_UNANSWERED: 1 window could not be compared'),
    });
  });

  it('compares to the tick of the coarser source', async () => {
    const { env, bybit } = await open(queue);
    const [row] = bybit.truth.candles(series, { startMs, endMs: startMs + hourMs });
    if (row === undefined) throw new Error('no candle to change');
    // An expanded double: the same price to every digit of the other source.
    const close = decimalText(`${row.close}000000291038`);
    bybit.revise({ series, timeMs: startMs, fromMs: 0, values: { close } });
    const verified = await tidemark(['verify', '--against', 'bybit', '--all', '--json'], env);
    expect(verified).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(verified.stdout)).toMatchObject({ differing: 0, rewritten: 1 });
  });

  it('names what the other source lacks', async () => {
    const { env, database } = await open(queue);
    expect(await tidemark(['verify', '--against', 'coinbase-x'], env)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('no source is named "coinbase-x"'),
    });
    const more = ['--exchange', 'binance', '--base', 'no-such', '--quote', 'tether', '--interval', 'h1'];
    expect(await tidemark(['track', 'candles', ...more, '--from', '2024-03-01'], env)).toMatchObject({
      exitCode: 0,
    });
    await database.pool.query(
      `update tidemark.series set covered = '{[2024-03-01,2024-03-02)}' where base_id = 'no-such'`,
    );
    const verified = await tidemark(['verify', '--against', 'bybit', '--all'], env);
    expect(verified).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('bybit does not have 1 series, such as binance no-such/tether h1'),
    });
  });
}

describe('tidemark verify --against, queue on PostgreSQL', () => suite('postgres'));
describeNeeding('redis', 'tidemark verify --against, queue on Redis', () => suite('redis'));
