import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { decimalText } from '../../../contract/decimal.ts';
import { hourMs } from '../../../contract/intervals.ts';
import type { Candle } from '../../../contract/resources.ts';
import { startVenueSimulator } from '../../../simulator/venues/start.ts';
import { openDatabase } from '../../../store/db/database.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { storedPoints } from '../../pipeline/stored.ts';
import { tidemark } from '../command.ts';

const series = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'h1',
} as const;
const fromMs = Date.UTC(2024, 0, 1);
const toMs = Date.UTC(2024, 6, 1);

/** REST and an archive of the same market. @param badFileRate share of files with a defect. */
async function open(queue: 'postgres' | 'redis', badFileRate = 0) {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const rest = await startVenueSimulator({ profile: 'binance' });
  onTestFinished(() => rest.close());
  const archive = await startVenueSimulator({ profile: 'binance-archive', faults: { badFileRate } });
  onTestFinished(() => archive.close());
  const list = join(mkdtempSync(join(tmpdir(), 'tidemark-archive-')), 'tidemark.yaml');
  writeFileSync(
    list,
    `sources:\n  binance: { url: '${rest.url}', archive: binance-archive }\n  binance-archive: { url: '${archive.url}' }\n`,
  );
  const env: Record<string, string> = {
    DATABASE_URL: url,
    WATCH_LIST: list,
    PLANNING_TICK_MS: '200',
    QUEUE_NAMESPACE: `t${new URL(url).pathname.slice(-12)}`,
    ...(queue === 'redis' ? { REDIS_URL: inject('redisUrl') ?? '' } : {}),
  };
  expect((await tidemark(['migrate'], env)).exitCode).toBe(0);
  const database = openDatabase({
    url,
    applicationName: 'test',
    maxConnections: 2,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(() => database.close());
  const market = ['--source', 'binance', '--symbol', 'BTC/USDT', '--interval', 'h1'];
  const backfill = (to = '2024-07-01') =>
    tidemark(['backfill', 'candles', ...market, '--from', '2024-01-01', '--to', to, '--json'], env);
  const truth = () => rest.truth.candles(series, { startMs: fromMs, endMs: toMs });
  const stored = () => storedPoints(database, { ...series, baseId: 'BTC', quoteId: 'USDT' });
  const klines = () => rest.requests().recent.filter(({ url }) => url.includes('klines')).length;
  const files = () =>
    archive
      .requests()
      .recent.filter(({ url }) => url.endsWith('.zip'))
      .map(({ url }) => url.slice(-11, -4));
  return { env, rest, backfill, truth, stored, klines, files, archive, database };
}

const months = ['2024-01', '2024-02', '2024-03', '2024-04', '2024-05', '2024-06'];

it('compares the months of an archive with its days, and keeps both values of what disagrees', async () => {
  const { env, rest, archive, backfill, stored, database } = await open('postgres');
  const daily = await startVenueSimulator({ profile: 'binance-archive-daily' });
  onTestFinished(() => daily.close());
  const urls = [`binance: { url: '${rest.url}', archive: binance-archive }`];
  urls.push(`binance-archive: { url: '${archive.url}' }`, `binance-archive-daily: { url: '${daily.url}' }`);
  writeFileSync(env.WATCH_LIST ?? '', `sources:\n  ${urls.join('\n  ')}\n`);
  const changed = [5, 77, 400].map((hour) => fromMs + hour * hourMs);
  for (const timeMs of changed)
    daily.revise({ series, timeMs, fromMs: 0, values: { volume: decimalText('7.25') } });
  expect(await backfill('2024-02-01')).toMatchObject({ exitCode: 0 });
  const before = await stored();
  const found = await tidemark(['verify', '--against', 'binance-archive-daily', '--all', '--json'], env);
  expect(found).toMatchObject({ exitCode: 7 });
  expect(JSON.parse(found.stdout)).toMatchObject({ compared: 31, differing: 3, differingPoints: 3 });
  const differing = await database.pool.query<{ time: number; there: string }>(
    `select (extract(epoch from time) * 1000)::bigint as time, there->>'volume' as there
     from source_differences where source = 'binance-archive-daily' order by time`,
  );
  expect(differing.rows).toEqual(changed.map((time) => ({ time, there: '7.25' })));
  expect(await stored()).toEqual(before);
});

it('takes days from an archive that is set to be the daily one', async () => {
  const { env, rest, archive, backfill, files, stored } = await open('postgres');
  const urls = [`binance: { url: '${rest.url}', archive: binance-archive-daily }`];
  urls.push(`binance-archive-daily: { url: '${archive.url}' }`);
  writeFileSync(env.WATCH_LIST ?? '', `sources:\n  ${urls.join('\n  ')}\n`);
  expect(await backfill('2024-01-11')).toMatchObject({ exitCode: 0 });
  expect(files().sort()).toEqual(
    ['01', '02', '03', '04', '05', '06', '07', '08', '09', '10'].map((day) => `2024-01-${day}`.slice(-7)),
  );
  expect(await stored()).toEqual(
    rest.truth.candles(series, { startMs: fromMs, endMs: Date.UTC(2024, 0, 11) }),
  );
});

function suite(queue: 'postgres' | 'redis') {
  it('takes every month from the archive, and nothing a second time', async () => {
    const { backfill, truth, stored, klines, files } = await open(queue);
    expect(await backfill()).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await stored()).toEqual(truth());
    expect(files().sort()).toEqual(months);
    // REST shows that the series has begun before.
    expect(klines()).toBeLessThanOrEqual(1);
    const before = files().length;
    const again = await backfill();
    expect(JSON.parse(again.stdout)).toMatchObject({ requests: 0, points: 0 });
    expect(files()).toHaveLength(before);
  });

  it('files with any defect are filled from the next source', async () => {
    const { backfill, truth, stored, klines, files, database } = await open(queue, 1);
    expect(await backfill()).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await stored()).toEqual(truth());
    // Each is asked for once: what is wrong with it stays wrong.
    expect(files().sort()).toEqual(months);
    expect(klines()).toBeGreaterThan(0);
    const asked = await database.pool.query<{ source: string; verdict: string }>(
      `select distinct source, verdict from tidemark.fetches order by 1, 2`,
    );
    expect(asked.rows).toContainEqual({ source: 'binance-archive', verdict: 'incomplete' });
    expect(asked.rows).toContainEqual({ source: 'binance', verdict: 'filled' });
    // A file that lacks rows at both ends and in its middle: all others of these give nothing.
    expect(asked.rows).toContainEqual({ source: 'binance-archive', verdict: 'filled' });
  });

  it('rows of a file that are rejected are filled from the next source', async () => {
    const { backfill, truth, stored, archive } = await open(queue);
    // A month, a day at the start of the next one, and single hours.
    const month = 31 * 24;
    const bad = [...Array.from({ length: month + 24 }, (_, hour) => hour), month + 100, month + 500];
    for (const hour of bad)
      archive.revise({
        series,
        timeMs: fromMs + hour * hourMs,
        fromMs: 0,
        values: { high: decimalText('0.1') },
      });
    expect(await backfill()).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await stored()).toEqual(truth());
  });

  it('is compared with REST: every altered row is found, and none is overwritten', async () => {
    const { env, backfill, truth, archive, stored, database } = await open(queue);
    const rows = truth() as Candle[];
    const step = Math.floor(rows.length / 400);
    const altered = Array.from({ length: 400 }, (_, place) => rows[place * step]?.period ?? 0);
    for (const timeMs of altered)
      archive.revise({ series, timeMs, fromMs: 0, values: { volume: decimalText('7.25') } });
    expect(await backfill()).toMatchObject({ exitCode: 0 });
    const before = await stored();
    const found = await tidemark(['verify', '--against', 'binance', '--all'], env);
    expect(found).toMatchObject({ exitCode: 7 });
    const differing = await database.pool.query<{ time: number; here: string }>(
      `select (extract(epoch from time) * 1000)::bigint as time, here->>'volume' as here
       from tidemark.cross_differences where source = 'binance' and kind = 'changed' order by time`,
    );
    expect(differing.rows.map(({ time }) => time)).toEqual(altered);
    expect(differing.rows.every(({ here }) => here === '7.25')).toBe(true);
    expect(await stored()).toEqual(before);
    // The other way round, by months.
    const again = await tidemark(['verify', '--against', 'binance-archive', '--all', '--json'], env);
    expect(again).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(again.stdout)).toMatchObject({ compared: 6, differing: 0 });
  });
}

describe('backfills from an archive, queue on PostgreSQL', () => suite('postgres'));
describeNeeding('redis', 'backfills from an archive, queue on Redis', () => suite('redis'));
