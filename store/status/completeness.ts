/** How complete the tracked series are, as SQL: from their own rows and the deferred windows, never from points. */

import { isAwaiting, isFailed, isLost } from '../series/gap-reasons.ts';
import { closedSeries, multirangeLengthMs } from '../series/gaps.ts';

/**
 * The SQL of a relation `measured`: the columns of {@link closedSeries}, `wanted` (the tracked and closed part, a
 * range), `missing` (a multirange), and the deferred windows that failed, those of them that the source no longer
 * keeps, and those that await a second answer (multiranges; null: there are none). Parameters: `$1` now and `$2` the
 * grace in milliseconds.
 *
 * `offset 0` keeps PostgreSQL from computing the ranges again for each column that is made of them.
 *
 * @param isChosen condition on the id of a series, as SQL.
 */
export function measuredSeries(isChosen: (id: string) => string): string {
  return `
    closed as (${closedSeries} where s.untracked_at is null and ${isChosen('s.id')}),
    pending as (
      select series_id, range_agg(range) filter (where ${isFailed('reason')}) as failed,
             range_agg(range) filter (where ${isLost('reason')}) as beyond_depth,
             range_agg(range) filter (where ${isAwaiting('reason')}) as awaiting
      from tidemark.pending_windows where not of_covered and ${isChosen('series_id')} group by series_id
    ), measured as (
      select s.*, w.wanted, g.missing, p.failed, p.beyond_depth, p.awaiting
      from closed s
      cross join lateral (select s.tracked * tstzrange(null, s.closed_up_to) as wanted offset 0) w
      cross join lateral (select tstzmultirange(w.wanted) - s.covered as missing offset 0) g
      left join pending p on p.series_id = s.id
    )`;
}

/** Lengths of parts of a row `s` of {@link measuredSeries}, in milliseconds, as SQL. */
export const lengthsMs = {
  wanted: `coalesce(date_part('epoch', upper(s.wanted) - lower(s.wanted)) * 1000, 0)::bigint`,
  confirmedEmpty: lengthUnlessNone('s.confirmed_empty', 'tstzmultirange(s.wanted) * s.confirmed_empty'),
  beforeBeginning: lengthUnlessNone('s.before_beginning', 'tstzmultirange(s.wanted) * s.before_beginning'),
  failed: lengthUnlessNone('s.failed', 's.missing * s.failed'),
  beyondDepth: lengthUnlessNone('s.beyond_depth', 's.missing * s.beyond_depth'),
  awaiting: lengthUnlessNone('s.awaiting', 's.missing * s.awaiting'),
};

/** Most series have none of a kind, and the length of nothing is not free. */
function lengthUnlessNone(ranges: string, part: string): string {
  return `case when ${ranges} is null or ${ranges} = '{}' then 0 else ${multirangeLengthMs(part)} end`;
}
