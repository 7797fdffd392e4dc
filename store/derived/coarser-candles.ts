/**
 * Candles of one series at an interval that is not stored, as SQL. A statement that names the relation itself is planned
 * sooner than the view `candles` with all its levels, and answers the same.
 */

import { periodLiteral, type RollupLevel } from './levels.ts';
import { bucketed, rolledUp } from './rollups.ts';

export const candleColumns = 'time, open, high, low, close, volume';

/** A rollup, and where it awaits a refresh the points, as the view has it. @param which condition on series and time. */
export function candlesFromRollup(level: RollupLevel, which: string): string {
  return `
    with behind as materialized (select * from tidemark.behind('${level.name}'))
    select ${candleColumns} from ${level.name}
    where ${which} and not time <@ (select ranges from behind)
    union all
    select ${candleColumns} from (
      select ${bucketed(level)} from tidemark.candle_points
      where ${which} and time <@ (select ranges from behind)
        and time >= (select first from behind) and time < (select ending from behind)
      group by 1
    ) bucket`;
}

/** Without TimescaleDB: only what is asked for is read, which a condition on a plain rollup's time would not do. */
export function candlesFromPoints(level: RollupLevel, which: string): string {
  return `
    select ${candleColumns} from (
      select ${rolledUp(periodLiteral(level))} from tidemark.candle_points where ${which} group by 1, 2
    ) bucket`;
}
