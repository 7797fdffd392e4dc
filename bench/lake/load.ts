/** A store of the minutes of many markets, compressed a month at a time, with the marks that commits leave. */

import type pg from 'pg';
import { dayMs } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import type { Database } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import { copyMinutes, endMs, type Size, seriesOf } from '../growth/load.ts';

export interface Loaded {
  readonly candles: number;
  readonly minutes: readonly { readonly seriesId: number; readonly series: CandleSeries }[];
}

/** @param say reports progress. */
export async function loadMinutes(
  database: Database,
  client: pg.Client,
  { markets, days }: Size,
  say: (line: string) => void,
): Promise<Loaded> {
  // Chunks are moved to the columnstore as they fill, and not meanwhile.
  await client.query(
    'select alter_job(job_id, scheduled => false) from timescaledb_information.jobs where hypertable_schema = ' +
      `'tidemark'`,
  );
  const startMs = endMs - days * dayMs;
  const minutes: Array<Loaded['minutes'][number]> = [];
  for (let market = 0; market < markets; market += 1) {
    const series = seriesOf(market, 'm1');
    minutes.push({ series, seriesId: (await trackSeries(database, series, startMs, endMs)).seriesId });
  }
  await copyMinutes(client, minutes, startMs, say);
  await client.query(committed);
  await client.query(marked);
  await client.query('vacuum analyze');
  const { rows } = await client.query<{ candles: number }>(
    'select sum(points)::float8 as candles from tidemark.series',
  );
  return { candles: rows[0]?.candles ?? 0, minutes };
}

const committed = `
  update tidemark.series s
  set points = p.points, earliest = p.earliest, newest = p.newest, covered = tstzmultirange(s.tracked)
  from (select series_id, count(*) as points, min(time) as earliest, max(time) as newest
        from tidemark.candle_points group by series_id) p
  where p.series_id = s.id`;

const marked = `
  insert into tidemark.changed_months (series_id, month, changed_at)
  select s.id, month::date, clock_timestamp()
  from tidemark.series s
  cross join generate_series(date_trunc('month', lower(tracked)), upper(tracked) - interval '1 minute',
                             '1 month') month`;
