/**
 * Stores of the growth benchmark: the synthetic year of the documentation, which the cookbook asks about, and beside it
 * as many other series as the size says, over the same year, compressed and rolled up.
 */

import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { systemClock } from '../../clock.ts';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { markAllBehind } from '../../store/series/rollups-behind.ts';
import { trackSeries } from '../../store/series/series.ts';
import { refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import { loadSyntheticYear } from '../../test/docs/synthetic-year.ts';
import type { Candle } from '../../v2/resources.ts';
import { asTraded } from '../storage/as-traded.ts';
import { benchSeries } from '../write/days.ts';
import { copiedColumns, copiedTime } from '../write/table.ts';

export interface Size {
  /** Series of `m1`; a fifth as many of `h1` and of `d1`. */
  readonly markets: number;
  readonly days: number;
}

export interface Store {
  readonly url: string;
  readonly size: Size;
  readonly database: Database;
  readonly candles: number;
  readonly minutes: readonly { readonly seriesId: number; readonly series: CandleSeries }[];
  /** Bytes of the points, and of the stored rollups. */
  readonly bytes: { readonly points: number; readonly rollups: number };
  /** The refresh that derived every rollup, in milliseconds. */
  readonly firstRefreshMs: number;
}

/** The end of the year that is stored. */
export const endMs: EpochMs = Date.UTC(2025, 0, 1);
export const yearsOfDays = 3;
/** The time of all commits: no period is open. */
export const nowMs: EpochMs = endMs + 60 * dayMs;

/** An original series, with other names. */
export function seriesOf(market: number, interval: CandleSeries['interval']): CandleSeries {
  const original = benchSeries[market % benchSeries.length];
  if (original === undefined) throw new Error('no series');
  return { ...original, interval, exchange: `exchange-${market}` };
}

/** The candles of a series in a range, with the digits of exchanges. */
export function candlesOf(series: CandleSeries, range: { startMs: EpochMs; endMs: EpochMs }): Candle[] {
  const { truth } = createSimulator({ seed: 'growth', clock: { now: () => nowMs } });
  const named = { ...series, exchange: 'binance' };
  return truth.candles(named, range).map((candle) => asTraded(named, candle));
}

/** @param say reports progress. */
export async function load(client: pg.Client, url: string, size: Size, say: (line: string) => void): Promise<Store> {
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 4,
    statementTimeoutMs: 3_600_000,
  });
  // Chunks are moved below, and not meanwhile.
  await client.query(
    'select alter_job(job_id, scheduled => false) from timescaledb_information.jobs where hypertable_schema = ' +
      `'tidemark'`,
  );
  await loadSyntheticYear(database);
  const startMs = endMs - size.days * dayMs;
  const minutes: { seriesId: number; series: CandleSeries }[] = [];
  for (let market = 0; market < size.markets; market += 1) {
    const series = seriesOf(market, 'm1');
    minutes.push({ series, seriesId: (await trackSeries(database, series, startMs, endMs)).seriesId });
  }
  await copyMinutes(client, minutes, startMs, say);
  for (let market = 0; market < size.markets / 5; market += 1) {
    await copySeries(database, client, seriesOf(size.markets + market, 'h1'), startMs);
    await copySeries(database, client, seriesOf(2 * size.markets + market, 'd1'), endMs - yearsOfDays * 365 * dayMs);
  }
  const ids = (await client.query<{ id: number }>(`select id from tidemark.series where exchange_id like 'exchange-%'`))
    .rows;
  await client.query(
    `update tidemark.series s
        set points = p.points, earliest = p.earliest, newest = p.newest, covered = tstzmultirange(s.tracked)
       from (select series_id, count(*) as points, min(time) as earliest, max(time) as newest
             from tidemark.candle_points where series_id = any ($1) group by series_id) p
      where p.series_id = s.id`,
    [ids.map(({ id }) => id)],
  );
  await client.query(markAllBehind);
  const firstRefreshMs = await timeOf(() => refreshRollups(database, { clock: systemClock, nowMs }));
  for (const name of ['candle_points', 'rollup_hours', 'rollup_days']) await compress(client, name);
  await client.query('vacuum analyze');
  const sizes = await client.query<{ points: number; rollups: number; candles: number }>(
    `select hypertable_size('tidemark.candle_points')::float8 as points,
            (hypertable_size('tidemark.rollup_hours') + hypertable_size('tidemark.rollup_days'))::float8 as rollups,
            (select sum(points)::float8 from tidemark.series where dataset = 'candles') as candles`,
  );
  const [{ points, rollups, candles } = { points: 0, rollups: 0, candles: 0 }] = sizes.rows;
  say(`growth: ${candles} candles are loaded`);
  return { url, size, database, candles, minutes, bytes: { points, rollups }, firstRefreshMs };
}

export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** Copies the originals to every market, a month at a time: only one month is ever in row form. */
export async function copyMinutes(
  client: pg.Client,
  minutes: Store['minutes'],
  startMs: EpochMs,
  say: (line: string) => void,
): Promise<void> {
  await client.query('create unlogged table originals (like tidemark.candle_points)');
  for (let fromMs = startMs; fromMs < endMs; fromMs += 30 * dayMs) {
    const range = { startMs: fromMs, endMs: Math.min(endMs, fromMs + 30 * dayMs) };
    await client.query('truncate originals');
    for (const [place, series] of benchSeries.entries())
      await copyRows(client, 'originals', place, candlesOf(series, range));
    await client.query(
      `insert into tidemark.candle_points
       select s.id, o.time, o.open, o.high, o.low, o.close, o.volume
       from unnest($1::int[]) with ordinality s (id, place) join originals o on o.series_id = (s.place - 1) % $2
       order by s.id, o.time`,
      [minutes.map(({ seriesId }) => seriesId), benchSeries.length],
    );
    await compress(client, 'candle_points', range.endMs);
    say(`growth: ${minutes.length} markets are loaded up to ${new Date(range.endMs).toISOString().slice(0, 10)}`);
  }
  await client.query('drop table originals');
}

async function copySeries(
  database: Database,
  client: pg.Client,
  series: CandleSeries,
  startMs: EpochMs,
): Promise<void> {
  const { seriesId } = await trackSeries(database, series, startMs, endMs);
  await copyRows(client, 'tidemark.candle_points', seriesId, candlesOf(series, { startMs, endMs }));
}

async function copyRows(
  client: pg.Client,
  target: string,
  seriesId: number,
  candles: readonly Candle[],
): Promise<void> {
  const stream = client.query(copyFrom(`copy ${target} (${copiedColumns}) from stdin`));
  const finished = new Promise((resolve, reject) => stream.on('finish', resolve).on('error', reject));
  for (let from = 0; from < candles.length; from += 10_000) {
    const lines = candles
      .slice(from, from + 10_000)
      .map(({ period, open, high, low, close, volume }) =>
        [seriesId, copiedTime(period), open, high, low, close, volume].join('\t'),
      );
    await new Promise<void>((resolve) => {
      stream.write(lines.map((line) => `${line}\n`).join(''), () => resolve());
    });
  }
  stream.end();
  await finished;
}

/** Moves the chunks that end before `beforeMs` to the columnstore. */
async function compress(client: pg.Client, name: string, beforeMs: EpochMs = nowMs + 400 * dayMs): Promise<void> {
  const chunks = await client.query<{ chunk: string }>(
    `select chunk::text from show_chunks('tidemark.${name}', older_than => $1::timestamptz) chunk`,
    [new Date(beforeMs)],
  );
  for (const { chunk } of chunks.rows) await client.query('select compress_chunk($1, true)', [chunk]);
}
