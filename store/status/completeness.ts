/** Lengths of what tracked series have and lack, as SQL. */

import { multirangeLengthMs } from '../series/gaps.ts';

/** Lengths of parts of a row `s` of `tidemark.measured_series`, in milliseconds, as SQL. */
export const lengthsMs = {
  wanted: `coalesce(date_part('epoch', upper(s.wanted) - lower(s.wanted)) * 1000, 0)::bigint`,
  confirmedEmpty: lengthUnlessNone('s.confirmed_empty', 'tstzmultirange(s.wanted) * s.confirmed_empty'),
  beforeBeginning: lengthUnlessNone('s.before_beginning', 'tstzmultirange(s.wanted) * s.before_beginning'),
  failed: lengthUnlessNone('s.failed', 's.missing * s.failed'),
  beyondDepth: lengthUnlessNone('s.beyond_depth', 's.missing * s.beyond_depth'),
  awaiting: lengthUnlessNone('s.awaiting', 's.missing * s.awaiting'),
  /** Of the gap that reaches the last closed period, without what awaits a second answer. */
  unasked: `case when upper(s.missing) = s.closed_up_to then (
    select coalesce(sum(date_part('epoch', upper(r) - lower(r)) * 1000), 0)::bigint
    from unnest(s.missing - coalesce(s.awaiting, '{}')) r where upper(r) = s.closed_up_to) else 0 end`,
};

/** Most series have none of a kind, and the length of nothing is not free. */
function lengthUnlessNone(ranges: string, part: string): string {
  return `case when ${ranges} is null or ${ranges} = '{}' then 0 else ${multirangeLengthMs(part)} end`;
}
