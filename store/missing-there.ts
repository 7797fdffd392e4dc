/**
 * What the source says that it does not have itself: it stays a gap, shown with that reason, and is asked for again after
 * a pause, which grows with the time that it has been missing. Nobody knows when the source will have it, and a source
 * that never will must not be asked for it every few minutes.
 */

import type pg from 'pg';
import { dayMs, type EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import { timeRange, timestamp } from './database.ts';

export const incompleteKind = 'incomplete';
export const incompleteMessage = 'the source says that it does not have this itself';

/** So much later at most a gap that was filled at the source is found. */
const longestPauseMs = dayMs;

/**
 * Puts a range aside, but what of it is covered. What was known to be missing from the same time on, and reaches no
 * further, is replaced: at the newest end there would be one more with each refresh.
 *
 * @param aside `retryAtMs` when it is asked for again at the earliest.
 */
export async function putMissingAside(
  client: pg.Pool | pg.PoolClient,
  aside: {
    readonly seriesId: number;
    readonly range: Range;
    readonly message: string;
    readonly attempts: number;
    readonly nowMs: EpochMs;
    readonly retryAtMs: EpochMs;
  },
): Promise<void> {
  await client.query({
    name: 'put-missing-aside',
    text: `
      with open as materialized (
        select r as range from tidemark.series s, unnest(tstzmultirange($2::tstzrange) - s.covered) r
        where s.id = $1 for no key update of s
      ), known as (
        select o.range, coalesce(sum(p.attempts), 0)::int as attempts,
               least(min(p.first_at) filter (where p.range @> lower(o.range)), $5) as first_at
        from open o left join tidemark.pending_windows p
          on p.series_id = $1 and p.kind = '${incompleteKind}' and not p.of_covered and p.range && o.range
        group by o.range
      ), replaced as (
        delete from tidemark.pending_windows p using open o
        where p.series_id = $1 and p.kind = '${incompleteKind}' and not p.of_covered
          and p.range <@ o.range and p.range <> o.range
      )
      insert into tidemark.pending_windows as p
        (series_id, range, verdict, kind, message, attempts, first_at, retry_at, of_covered)
      select $1, range, 'failed', '${incompleteKind}', $3, attempts + $4, first_at,
             $5::timestamptz + greatest($6::timestamptz - $5, least($5 - greatest(first_at, lower(range)),
                                                                   make_interval(secs => ${longestPauseMs / 1000}))), false
      from known
      on conflict (series_id, range) do update
        set verdict = excluded.verdict, kind = excluded.kind, message = excluded.message, attempts = excluded.attempts,
            first_at = excluded.first_at, retry_at = excluded.retry_at, of_covered = false`,
    values: [
      aside.seriesId,
      timeRange(aside.range.startMs, aside.range.endMs),
      aside.message.slice(0, 1000),
      aside.attempts,
      timestamp(aside.nowMs),
      timestamp(aside.retryAtMs),
    ],
  });
}
