/**
 * Definitions of the rollups: views that derive candles of one interval from those of a finer one.
 *
 * Hours and days are stored for the series that are finer. Days in `rollups_behind` of a series are derived from its points
 * instead, in the same statement: a view always agrees with the points of its snapshot.
 *
 * The values are exact: `first` and `last` keep a value's text, and `sum` has as many decimals as the most
 * precise of its parts, in any order. `max` alone would not be exact: of equal values with different trailing
 * zeros it keeps the last one it meets. Paired with their scale, values have a total order, so the text is
 * always the same.
 */

import {
  gridOrigin,
  periodLiteral,
  type RollupLevel,
  rollupLevels,
  type StoredRollup,
} from '../../model/rollup-levels.ts';

const highest = '(max(array[high, scale(high)]))[1]';
const lowest = '(min(array[low, -scale(low)]))[1]';
const values = 'open, high, low, close, volume';

/** The views of every level, in the order of creation. @param timescale whether the points are a hypertable. */
export function rollupViews(timescale: boolean): string {
  return rollupLevels
    .map(
      (level) => `
create or replace view ${level.name} as
  select s.id as series_id, c.time, c.open, c.high, c.low, c.close, c.volume, c.points
  from tidemark.series s
  cross join lateral (${derivation(level, timescale)}
    union all select null, null, null, null, null, null, null from tidemark.series where false
  ) c
  where s.dataset = 'candles' and s.interval in (${level.finer.map((finer) => `'${finer}'`).join(', ')});
comment on view ${level.name} is 'Candles of ${level.interval} of each series of a shorter interval that divides it.';
`,
    )
    .join('');
}

/** Candles of a level of the series `s`. */
function derivation(level: RollupLevel, timescale: boolean): string {
  const columns = bucketColumns(level, timescale);
  const fromPoints = (which: string) => `
    select ${columns}, count(*) as points from tidemark.candle_points where series_id = s.id${which} group by 1`;
  if (level.from === null) return fromPoints('');
  const stored = storedOrDerived(level.from, timescale);
  // Series of the stored rollup's own interval or a coarser one have no rows in it.
  const limit = periodLiteral(level.from);
  if (level.from.periodMs === level.periodMs)
    return `
    select time, ${values}, points from (${stored}) stored`;
  return `
    select ${columns}, sum(points)::bigint as points from (${stored}) stored group by 1
    union all${fromPoints(` and s.period >= ${limit}`)}`;
}

/** The rows of a stored rollup of the series `s`: derived from its points where they have changed. */
function storedOrDerived(rollup: StoredRollup, timescale: boolean): string {
  return `
      select time, ${values}, points from ${rollup.table}
      where series_id = s.id and not time <@ s.rollups_behind
      union all
      select changed.* from unnest(s.rollups_behind) behind cross join lateral (
        select ${bucketColumns(rollup, timescale)}, count(*) as points from tidemark.candle_points
        where series_id = s.id and s.period < ${periodLiteral(rollup)}
          and time >= lower(behind) and time < upper(behind)
        group by 1
      ) changed`;
}

/** The columns of a candle, for points that are grouped by the first. */
export function bucketColumns(level: Pick<RollupLevel, 'periodMs'>, timescale: boolean): string {
  return periodColumns(periodLiteral(level), timescale);
}

/**
 * A condition on a `time_bucket` excludes chunks, and one on a `date_bin` does not. The planner also knows that buckets are in
 * the order of time, and so sorts nothing: it takes half the processor time.
 */
const periodColumns = (period: string, timescale: boolean) =>
  timescale
    ? `time_bucket(${period}, time, origin => ${gridOrigin}) as time,
           first(open, time) as open, ${highest} as high, ${lowest} as low, last(close, time) as close,
           sum(volume) as volume`
    : `date_bin(${period}, time, ${gridOrigin}) as time, ${groupedValues}`;

/** The values of a candle, of candles that are grouped, without TimescaleDB's functions. */
export const groupedValues = `(array_agg(open order by time))[1] as open, ${highest} as high, ${lowest} as low,
           (array_agg(close order by time desc))[1] as close, sum(volume) as volume`;

/** Columns of a rollup, for points that are grouped by 1 and 2. @param timescale whether they are of a hypertable. */
export function rollupColumns(period: string, timescale = false): string {
  return `series_id, ${periodColumns(period, timescale)}, count(*) as points`;
}

export const candleColumns = `time, ${values}`;

/**
 * Candles of one series and range.
 *
 * @param which condition on series and time, the time in whole periods.
 */
export function candlesOf(level: RollupLevel, which: string): string {
  if (level.from !== null) return `select ${candleColumns} from ${level.name} where ${which}`;
  // The view would read all points of a plain table: a condition on a period is none on the time of points.
  return `
    select ${candleColumns} from (
      select ${rollupColumns(periodLiteral(level))} from tidemark.candle_points where ${which} group by 1, 2
    ) derived`;
}

/** The days of each series that await a refresh, ended ones only. */
export const rollupsBehind = `
create or replace view tidemark.rollups_behind as
  select s.id as series_id, behind as range
  from tidemark.series s, unnest(s.rollups_behind
    * tstzmultirange(tstzrange(null, date_bin('1 day', now() - interval '1 hour', timestamptz 'epoch')))) behind;
comment on view tidemark.rollups_behind is 'Days of each series whose points have changed since they were rolled up.';
`;
