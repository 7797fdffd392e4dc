/**
 * The data of the query benchmark: two years of minutes of twenty markets, eleven years of days of one market, and the
 * last weeks of hours of a thousand markets, all in the hypertable of candles, compressed and rolled up as usual.
 */

import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { systemClock } from '../../clock.ts';
import { dayMs, type EpochMs, periodStart } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { openDatabase } from '../../store/db/database.ts';
import { markAllBehind } from '../../store/series/rollups-behind.ts';
import { trackSeries } from '../../store/series/series.ts';
import { refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import { asTraded } from '../storage/as-traded.ts';
import { runColumnstorePolicy } from '../timescale.ts';
import { benchSeries } from '../write/days.ts';
import { copiedColumns, copiedTime } from '../write/table.ts';

export interface Extent {
  readonly markets: number;
  readonly days: number;
  readonly years: number;
  readonly latest: number;
  readonly latestDays: number;
}

export interface Loaded {
  readonly toMs: EpochMs;
  /** A market of minutes without stored days. */
  readonly minutes: { readonly seriesId: number; readonly series: CandleSeries };
  /** Another market with the minutes of the same time. */
  readonly beside: { readonly seriesId: number; readonly series: CandleSeries };
  /** The market of days. */
  readonly sparse: { readonly seriesId: number; readonly series: CandleSeries };
  readonly rows: number;
}

/** @param say reports progress. */
export async function load(
  client: pg.Client,
  url: string,
  extent: Extent,
  say: (line: string) => void,
): Promise<Loaded> {
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 3,
    statementTimeoutMs: 3_600_000,
  });
  try {
    const nowMs = Date.now();
    const toMs = periodStart(nowMs, 'd1');
    const fromMs = toMs - extent.days * dayMs;
    const track = async (series: CandleSeries, startMs: EpochMs) => ({
      series,
      seriesId: (await trackSeries(database, series, startMs, toMs)).seriesId,
    });
    const originals = [];
    for (const series of benchSeries) originals.push(await track(series, fromMs));
    for (const original of originals) {
      await copySimulated(client, original.seriesId, original.series, { startMs: fromMs, endMs: toMs });
      say(`queries: the minutes of ${original.series.baseId}/${original.series.quoteId} are loaded`);
    }
    for (let copy = originals.length; copy < extent.markets; copy += 1) {
      const original = originals[copy % originals.length];
      if (original === undefined) break;
      const { seriesId } = await track({ ...original.series, exchange: `exchange-${copy}` }, fromMs);
      await copySeries(client, original.seriesId, seriesId, fromMs);
    }
    const [first, second] = originals;
    if (first === undefined || second === undefined) throw new Error('no markets');
    const days: CandleSeries = { ...first.series, interval: 'd1' };
    const sinceMs = toMs - extent.years * 365 * dayMs;
    const sparse = await track({ ...days, exchange: 'exchange-0' }, sinceMs);
    await copySimulated(client, sparse.seriesId, days, { startMs: sinceMs, endMs: toMs });
    const hours: CandleSeries = { ...second.series, interval: 'h1' };
    const hoursMs = toMs - extent.latestDays * dayMs;
    const hourly = await track({ ...hours, exchange: 'exchange-0' }, hoursMs);
    await copySimulated(client, hourly.seriesId, hours, { startMs: hoursMs, endMs: toMs });
    for (let copy = 1; copy < extent.latest; copy += 1) {
      const { seriesId } = await track({ ...hourly.series, exchange: `exchange-${copy}` }, toMs - 60 * dayMs);
      await copySeries(client, hourly.seriesId, seriesId, toMs - 60 * dayMs);
    }
    await client.query(
      `update tidemark.series s
          set points = p.points, earliest = p.earliest, newest = p.newest, covered = tstzmultirange(s.tracked)
         from (select series_id, count(*) as points, min(time) as earliest, max(time) as newest
               from tidemark.candle_points group by series_id) p
        where p.series_id = s.id`,
    );
    say('queries: moving chunks to the columnstore, and refreshing the rollups');
    await client.query(markAllBehind);
    await runColumnstorePolicy(client, 'candle_points');
    await refreshRollups(database, { clock: systemClock, nowMs });
    await client.query('vacuum analyze');
    const count = await client.query<{ rows: string }>('select sum(points) as rows from tidemark.series');
    return { toMs, minutes: second, beside: first, sparse, rows: Number(count.rows[0]?.rows) };
  } finally {
    await database.close();
  }
}

async function copySimulated(
  client: pg.Client,
  seriesId: number,
  series: CandleSeries,
  { startMs, endMs }: { startMs: EpochMs; endMs: EpochMs },
): Promise<void> {
  const { truth } = createSimulator({ seed: 'bench', clock: { now: () => endMs + dayMs } });
  const target = client.query(copyFrom(`copy tidemark.candle_points (${copiedColumns}) from stdin`));
  const finished = new Promise((resolve, reject) => target.on('finish', resolve).on('error', reject));
  const stepMs = series.interval === 'm1' ? dayMs : 365 * dayMs;
  for (let fromMs = startMs; fromMs < endMs; fromMs += stepMs) {
    const rows = truth.candles(series, { startMs: fromMs, endMs: Math.min(fromMs + stepMs, endMs) });
    const lines = rows
      .map((row) => asTraded(series, row))
      .map(({ period, open, high, low, close, volume }) =>
        [seriesId, copiedTime(period), open, high, low, close, volume].join('\t'),
      );
    await new Promise<void>((resolve) => {
      target.write(lines.map((line) => `${line}\n`).join(''), () => resolve());
    });
  }
  target.end();
  await finished;
}

async function copySeries(client: pg.Client, from: number, to: number, sinceMs: EpochMs): Promise<void> {
  await client.query(
    `insert into tidemark.candle_points
     select $2, time, open, high, low, close, volume from tidemark.candle_points where series_id = $1 and time >= $3`,
    [from, to, new Date(sinceMs)],
  );
}
