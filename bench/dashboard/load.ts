/** The data of the dashboard benchmark: one series of minutes, long or short, and many or few other series. */

import type pg from 'pg';
import { systemClock } from '../../clock.ts';
import { minuteMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { CandleSeries } from '../../model/series.ts';
import { openDatabase } from '../../store/db/database.ts';
import { markAllBehind } from '../../store/series/rollups-behind.ts';
import { trackSeries } from '../../store/series/series.ts';
import { refreshRollups } from '../../store/upkeep/refresh-rollups.ts';
import { runColumnstorePolicy } from '../timescale.ts';

export interface Extent {
  /** Points of the charted series. */
  readonly points: number;
  /** The number of series. */
  readonly series: number;
}

export interface Charted extends Range {
  readonly seriesId: number;
}

const charted: CandleSeries = {
  ...({ dataset: 'candles', exchange: 'binance', interval: 'm1' } as const),
  baseId: 'bitcoin',
  quoteId: 'tether',
};
const atOnce = 500_000;

/** Compressed and rolled up as it would be within the hour. Each other series has one gap of its own, and no points. */
export async function load(
  client: pg.Client,
  url: string,
  { points, series }: Extent,
  endMs: number,
): Promise<Charted> {
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 3,
    statementTimeoutMs: 3_600_000,
  });
  try {
    const startMs = endMs - points * minuteMs;
    const { seriesId } = await trackSeries(database, charted, startMs, null);
    for (let from = 0; from < points; from += atOnce) {
      await client.query(
        `insert into tidemark.candle_points (series_id, time, open, high, low, close, volume)
         select $1, to_timestamp($2) + n * interval '1 minute', p, p + 12.25, p - 9.5, p + 1.75, 0.0625 * (1 + n % 97)
         from generate_series($3::integer, $4::integer - 1) n,
              lateral (select round((40000 + 9000 * sin(n / 90000.0) + 80 * sin(n / 31.0))::numeric, 2) as p) price`,
        [seriesId, startMs / 1000, from, Math.min(points, from + atOnce)],
      );
    }
    await client.query(
      `update tidemark.series
       set covered = tstzmultirange(tstzrange(lower(tracked), to_timestamp($2))), points = $3,
         earliest = lower(tracked),
           newest = to_timestamp($2) - period
       where id = $1`,
      [seriesId, endMs / 1000, points],
    );
    await client.query(
      `insert into tidemark.series (dataset, exchange_id, base_id, quote_id, interval, period, tracked, covered)
       select 'candles', 'exchange-' || i % 10, 'asset-' || i, 'tether', 'h1', '1 hour', r,
              tstzmultirange(r) - tstzmultirange(tstzrange(lower(r), lower(r) + i * interval '1 hour'))
       from generate_series(1, $1 - 1) i, tstzrange('2024-01-01Z', '2024-06-01Z') r`,
      [series],
    );
    await client.query(
      `insert into tidemark.series_sources (series_id, rank, source, symbol)
       select id, 1, 'default', '' from tidemark.series on conflict do nothing`,
    );
    await client.query(markAllBehind);
    await runColumnstorePolicy(client, 'candle_points');
    await refreshRollups(database, { clock: systemClock, nowMs: endMs });
    await client.query('vacuum analyze');
    return { seriesId, startMs, endMs };
  } finally {
    await database.close();
  }
}
