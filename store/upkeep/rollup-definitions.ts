/**
 * The columns of rollups, which derive candles of one interval from those of a finer one.
 *
 * The values are exact: `first` and `last` keep a value's text, and `sum` has as many decimals as the most
 * precise of its parts, in any order. `max` alone would not be exact: of equal values with different trailing
 * zeros it keeps the last one it meets. Paired with their scale, values have a total order, so the text is
 * always the same.
 */

import { gridOrigin, periodLiteral, type RollupLevel } from '../../model/rollup-levels.ts';

const highest = '(max(array[high, scale(high)]))[1]';
const lowest = '(min(array[low, -scale(low)]))[1]';
const values = 'open, high, low, close, volume';

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
