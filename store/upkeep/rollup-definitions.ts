/**
 * The columns of rollups, which derive candles of one interval from those of a finer one.
 *
 * The values are exact: `first` and `last` keep a value's text, and `sum` has as many decimals as the most precise of
 * its parts, in any order. `max` alone would not be exact: of equal values with different trailing zeros it keeps the
 * last one it meets. Paired with their scale, values have a total order, so the text is always the same.
 */

import type { Rollup } from '../../model/dataset.ts';
import { columnNames, datasets } from '../../model/datasets/index.ts';
import { gridOrigin, periodLiteral, type RollupLevel } from '../../model/rollup-levels.ts';

/** @param present a condition where the column may be null: `array[null]` would be the highest of all. */
type Grouping = Readonly<Record<Rollup, (column: string, present: string) => string>>;
const grouping: Grouping = {
  first: (column) => `(array_agg(${column} order by time))[1]`,
  max: (column, present) => `(max(array[${column}, scale(${column})])${present})[1]`,
  min: (column, present) => `(min(array[${column}, -scale(${column})])${present})[1]`,
  last: (column) => `(array_agg(${column} order by time desc))[1]`,
  sum: (column) => `sum(${column})`,
};
const chunkGrouping: Grouping = {
  ...grouping,
  first: (column) => `first(${column}, time)`,
  last: (column) => `last(${column}, time)`,
};

const grouped = (by: Grouping) =>
  datasets.candles.columns
    .map(({ name, rollup, ...column }) => {
      const present = 'isOptional' in column ? ` filter (where ${name} is not null)` : '';
      return `${by[rollup](name, present)} as ${name}`;
    })
    .join(', ');

/** The columns of a candle, for points that are grouped by the first. */
export function bucketColumns(level: Pick<RollupLevel, 'periodMs'>, timescale: boolean): string {
  return periodColumns(periodLiteral(level), timescale);
}

/**
 * A condition on a `time_bucket` excludes chunks, and one on a `date_bin` does not. The planner also knows that buckets
 * are in the order of time, and so sorts nothing: it takes half the processor time.
 */
const periodColumns = (period: string, timescale: boolean) =>
  timescale
    ? `time_bucket(${period}, time, origin => ${gridOrigin}) as time, ${grouped(chunkGrouping)}`
    : `date_bin(${period}, time, ${gridOrigin}) as time, ${groupedValues}`;

/** The values of a candle, of candles that are grouped, without TimescaleDB's functions. */
export const groupedValues = grouped(grouping);

/** Columns of a rollup, for points that are grouped by 1 and 2. @param timescale whether they are of a hypertable. */
export function rollupColumns(period: string, timescale = false): string {
  return `series_id, ${periodColumns(period, timescale)}, count(*) as points`;
}

export const candleColumns = `time, ${columnNames.candles.join(', ')}`;

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
