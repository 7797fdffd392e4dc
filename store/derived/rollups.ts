/**
 * The rollups' definitions: continuous aggregates with TimescaleDB, plain views of the same columns without it.
 *
 * Exact on NUMERIC: `first` and `last` keep a value's text, `sum` has as many decimals as the most precise of its
 * parts, in whatever order they come. `max` alone would not do: of equal values with different trailing zeros it
 * keeps whichever it meets last. Paired with its scale a value has one place among all, so the text is always the same.
 */

import { gridOrigin, periodLiteral, type RollupLevel, rollupLevels } from './levels.ts';
import { batchOptions, lagMs } from './refresh-rules.ts';

const highest = '(max(array[high, scale(high)]))[1]';
const lowest = '(min(array[low, -scale(low)]))[1]';

export interface Rollup {
  readonly name: RollupLevel['name'];
  readonly create: string;
  /** What keeps it refreshed for the present; null for a plain view. */
  readonly policy: string | null;
}

/** Every rollup, each after the one it is made of. @param timescale whether the points are a hypertable. */
export function rollupDefinitions(timescale: boolean): Rollup[] {
  return rollupLevels.map((level) => ({
    name: level.name,
    create: timescale ? continuousAggregate(level) : plainView(level),
    policy: timescale ? refreshPolicy(level) : null,
  }));
}

function continuousAggregate(level: RollupLevel): string {
  const from = level.from === null ? 'tidemark.candle_points' : `tidemark.rollup_${level.from}`;
  return `
    create materialized view ${level.name}
      with (timescaledb.continuous, timescaledb.materialized_only = false) as
    select series_id, ${bucketed(level, level.from === null ? 'count(*)' : 'sum(points)::bigint')}
    from ${from}
    group by 1, 2
    with no data`;
}

/**
 * What a rollup says of each period, by TimescaleDB's functions: a condition on a `time_bucket` excludes chunks of what
 * it is made of, which one on a `date_bin` does not.
 */
export function bucketed(level: RollupLevel, points = 'count(*)'): string {
  return `time_bucket(${periodLiteral(level)}, time, origin => ${gridOrigin}) as time,
           first(open, time) as open, ${highest} as high, ${lowest} as low, last(close, time) as close,
           sum(volume) as volume, ${points} as points`;
}

/**
 * Every hour, whatever was changed. The first time is an hour from now, and a minute later for each level: a start
 * that is not set would be at once, and before what the rollup is made of.
 */
function refreshPolicy(level: RollupLevel): string {
  const { buckets_per_batch, refresh_newest_first } = batchOptions(level);
  return `
    select add_continuous_aggregate_policy('${level.name}', start_offset => null::interval,
      end_offset => interval '${lagMs(level) / 1000} seconds', schedule_interval => interval '1 hour',
      initial_start => now() + interval '${60 + rollupLevels.indexOf(level)} minutes',
      buckets_per_batch => ${buckets_per_batch}, refresh_newest_first => ${refresh_newest_first})`;
}

function plainView(level: RollupLevel): string {
  return `
    create view ${level.name} as
    select ${rolledUp(periodLiteral(level))}
    from tidemark.candle_points
    group by 1, 2`;
}

/** What a rollup of that period selects, without TimescaleDB's functions, of points that are grouped by 1 and 2. */
export function rolledUp(period: string): string {
  return `series_id, date_bin(${period}, time, ${gridOrigin}) as time,
           (array_agg(open order by time))[1] as open, ${highest} as high, ${lowest} as low,
           (array_agg(close order by time desc))[1] as close, sum(volume) as volume, count(*) as points`;
}
