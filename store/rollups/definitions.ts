/**
 * Definitions of the rollups: continuous aggregates with TimescaleDB, plain views of the same columns without
 * it.
 *
 * The values are exact: `first` and `last` keep a value's text, and `sum` has as many decimals as the most
 * precise of its parts, in any order. `max` alone would not be exact: of equal values with different trailing
 * zeros it keeps the last one it meets. Paired with their scale, values have a total order, so the text is
 * always the same.
 */

import { batchOptions, gridOrigin, lagMs, periodLiteral, type RollupLevel, rollupLevels } from './levels.ts';

const highest = '(max(array[high, scale(high)]))[1]';
const lowest = '(min(array[low, -scale(low)]))[1]';

/**
 * Every rollup, each after its source, with the statement that adds its refresh policy; null for a plain view.
 *
 * @param timescale whether the points are a hypertable.
 */
export function rollupDefinitions(timescale: boolean) {
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
    select series_id, ${bucketColumns(level, level.from === null ? 'count(*)' : 'sum(points)::bigint')}
    from ${from}
    group by 1, 2
    with no data`;
}

/**
 * Columns of a rollup, with TimescaleDB's functions: a condition on a `time_bucket` excludes chunks of the
 * source, and one on a `date_bin` does not.
 */
export function bucketColumns(level: RollupLevel, points = 'count(*)'): string {
  return `time_bucket(${periodLiteral(level)}, time, origin => ${gridOrigin}) as time,
           first(open, time) as open, ${highest} as high, ${lowest} as low, last(close, time) as close,
           sum(volume) as volume, ${points} as points`;
}

/**
 * The policy runs every hour. The first run is in an hour, plus a minute for each level: without a start it
 * would run at once, and before the source of the rollup is refreshed.
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
    select ${rollupColumns(periodLiteral(level))}
    from tidemark.candle_points
    group by 1, 2`;
}

/** Columns of a rollup without TimescaleDB's functions, for points that are grouped by 1 and 2. */
export function rollupColumns(period: string): string {
  return `series_id, date_bin(${period}, time, ${gridOrigin}) as time,
           (array_agg(open order by time))[1] as open, ${highest} as high, ${lowest} as low,
           (array_agg(close order by time desc))[1] as close, sum(volume) as volume, count(*) as points`;
}

export const candleColumns = 'time, open, high, low, close, volume';

/**
 * Candles of one series from a rollup, and from the points where the rollup awaits a refresh, like the view
 * `candles`. A statement that names the relation itself is planned faster than the view with all its levels.
 *
 * @param which condition on series and time.
 */
export function candlesFromRollup(level: RollupLevel, which: string): string {
  return `
    with behind as materialized (select * from tidemark.behind('${level.name}'))
    select ${candleColumns} from ${level.name}
    where ${which} and not time <@ (select ranges from behind)
    union all
    select ${candleColumns} from (
      select ${bucketColumns(level)} from tidemark.candle_points
      where ${which} and time <@ (select ranges from behind)
        and time >= (select first from behind) and time < (select ending from behind)
      group by 1
    ) bucket`;
}

/**
 * The same without TimescaleDB. It reads only the requested points; a condition on the time of a plain rollup
 * would read all.
 */
export function candlesFromPoints(level: RollupLevel, which: string): string {
  return `
    select ${candleColumns} from (
      select ${rollupColumns(periodLiteral(level))} from tidemark.candle_points where ${which} group by 1, 2
    ) bucket`;
}
