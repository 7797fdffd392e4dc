/**
 * Points of a chart: as many as a screen has room for, however many are stored.
 *
 * At its own interval a series returns its points. Coarser candles come from the rollup. Where they
 * would have to be derived from too many points, because days are not rolled up yet (or of histories, which have no
 * rollups), the chart shows samples: the last value of each period, each found by the
 * index.
 */

import { byDataset, columnNames, datasets } from '../../model/datasets/index.ts';
import { type EpochMs, type Interval, intervalMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { type RollupLevel, rollupLevels } from '../../model/rollup-levels.ts';
import type { SeriesKey } from '../../model/series.ts';
import { type Database, timestamp } from '../../store/db/database.ts';
import { type SeriesRow, seriesColumns, toSeriesKey } from '../../store/series/series.ts';
import { candlesOf } from '../../store/upkeep/rollup-definitions.ts';
import type { ChartPoints, PointRow } from './shapes.ts';

/**
 * Limit on the points that an answer's candles may be derived from. Up to 2,000 candles of
 * h2 come from this many minutes in a fraction of a second. As many lookups among a hundred chunks take
 * several seconds.
 */
export const maxAggregated = 250_000;

/**
 * @param query.interval the series' own, or a coarser one.
 * @param query.range on the grid of that interval. The answer has at most one row for each of its periods.
 */
export async function readChartPoints(
  database: Database,
  query: { seriesId: number; series: SeriesKey; interval: Interval; range: Range },
): Promise<ChartPoints> {
  const { seriesId, series, interval, range } = query;
  const own = interval === series.interval;
  const values = [seriesId, timestamp(range.startMs), timestamp(range.endMs)];
  if (own) {
    const rows = await rowsOf(database, storedPoints[series.dataset], values);
    return { kind: datasets[series.dataset].chart, sampled: false, rows };
  }
  const level = rollupLevels.find((one) => one.interval === interval);
  if (series.dataset === 'candles' && level?.finer.includes(series.interval) === true) {
    const derivedMs = await derivedFromPointsMs(database, {
      level,
      range,
      seriesId,
      interval: series.interval,
    });
    if (derivedMs / intervalMs[series.interval] <= maxAggregated)
      return { kind: 'candles', sampled: false, rows: await rowsOf(database, derivedCandles(level), values) };
  }
  const periodMs = intervalMs[interval];
  const periods = Math.ceil((range.endMs - range.startMs) / periodMs);
  const rows = await rowsOf(database, sampleStatement(series.dataset), [
    seriesId,
    timestamp(range.startMs),
    periodMs / 1000,
    periods,
  ]);
  return { kind: 'line', sampled: true, rows };
}

const shown = 'series_id = $1 and time >= $2::timestamptz and time < $3::timestamptz';
const storedPoints = byDataset(({ table }, name) => ({
  name: `dashboard-${name}`,
  text: `select time, ${columnNames[name].join(', ')} from tidemark.${table} where ${shown} order by time`,
}));

const derivedCandles = (level: RollupLevel) => ({
  name: `dashboard-rollup-${level.interval}`,
  text: `${candlesOf(level, shown)} order by time`,
});

/**
 * The last value of each period, stamped with the period's start. Each is a lookup of one row, and
 * TimescaleDB skips the chunks that a period does not touch.
 */
export const sampleStatement = (dataset: SeriesKey['dataset']) => {
  const { table, shown: value } = datasets[dataset];
  return {
    name: `dashboard-samples-${dataset}`,
    text: `
      select g.start as time, p.value
      from (select $2::timestamptz + make_interval(secs => $3::double precision * i) as start
            from generate_series(0, $4::integer - 1) i) g
      cross join lateral (
        select ${value} as value from tidemark.${table}
        where series_id = $1 and time >= g.start and time < g.start + make_interval(secs => $3::double precision)
          -- The same for all lookups, so that chunks outside the whole range are excluded once.
          and time >= $2::timestamptz and time < $2::timestamptz + make_interval(secs => $3::double precision * $4::integer)
        order by time desc limit 1
      ) p
      order by 1`,
  };
};

/** Milliseconds of a range whose candles would be derived from points, and not from a stored rollup. */
async function derivedFromPointsMs(
  database: Database,
  { level, range, seriesId, interval }: { level: RollupLevel; range: Range; seriesId: number; interval: Interval },
): Promise<number> {
  const rangeMs = range.endMs - range.startMs;
  if (level.from === null || intervalMs[interval] >= level.from.periodMs) return rangeMs;
  const result = await database.pool.query<{ ms: number }>({
    name: 'dashboard-derived-from-points',
    text: `select coalesce(sum(extract(epoch from upper(r) - lower(r)) * 1000), 0)::bigint as ms
           from tidemark.series s, unnest(s.rollups_behind * tstzmultirange(tstzrange($2, $3))) r where s.id = $1`,
    values: [seriesId, timestamp(range.startMs), timestamp(range.endMs)],
  });
  return result.rows[0]?.ms ?? 0;
}

async function rowsOf(
  database: Database,
  statement: { name: string; text: string },
  parameters: readonly unknown[],
): Promise<PointRow[]> {
  const result = await database.pool.query<[EpochMs, ...string[]]>({
    ...statement,
    values: [...parameters],
    rowMode: 'array',
  });
  return result.rows;
}

/** Reads the series of a chart; null: there is no such series. */
export async function readChartedSeries(database: Database, seriesId: number) {
  type Times = Record<'earliestMs' | 'newestMs', EpochMs | null>;
  const result = await database.pool.query<SeriesRow & Times>({
    name: 'dashboard-series',
    text: `select ${seriesColumns}, s.earliest as "earliestMs", s.newest as "newestMs"
           from tidemark.series s where s.id = $1`,
    values: [seriesId],
  });
  const [row] = result.rows;
  if (row === undefined) return null;
  return { series: toSeriesKey(row), earliestMs: row.earliestMs, newestMs: row.newestMs };
}
