/** Which trailing ranges this round has not read again yet, and what a re-reading leaves of that. See planning/reread.ts. */

import type pg from 'pg';
import { type EpochMs, gridOriginMs } from '../contract/intervals.ts';
import type { RereadDue } from '../planning/reread.ts';
import { type Database, timeRange, timestamp } from './database.ts';
import type { Judged } from './judged.ts';
import { seriesColumns } from './series.ts';
import { type RangeRow, rangesBySeries } from './series-ranges.ts';

export interface RereadQuery {
  /** Start of the round. */
  readonly roundMs: EpochMs;
  readonly nowMs: EpochMs;
  /** Length of the trailing range. */
  readonly rangeMs: number;
  readonly everyMs: number;
  /** At most so many series, those first whose last re-reading is longest ago. */
  readonly most: number;
  readonly seriesIds?: readonly number[] | undefined;
}

/**
 * Series whose trailing range, as far as it is covered, was not read again in this round. Not those in whose range
 * something can be filled yet: that comes first, and would then be left over as a request of its own. Nor those that began
 * in this round: all of them was read just now.
 */
export async function rereadsDue(database: Database, query: RereadQuery): Promise<RereadDue[]> {
  const origin = `'${new Date(gridOriginMs).toISOString()}'`;
  const result = await database.pool.query<RangeRow>({
    name: 'rereads-due',
    text: `
      with ranged as (
        select s.*, date_bin(s.period, $2::timestamptz - make_interval(secs => $3::double precision / 1000), ${origin}) as since,
               least(upper(s.tracked), date_bin(s.period, $2::timestamptz, ${origin})) as until
        from tidemark.series s
        where s.untracked_at is null and (s.blocked_until is null or s.blocked_until <= $1)
          and ($5::int[] is null or s.id = any ($5))
          and not (s.created_at >= $2 and s.created_at < $2::timestamptz + make_interval(secs => $6::double precision / 1000))
      ), held as (
        select series_id, range_agg(range) as ranges from tidemark.pending_windows where retry_at > $1 group by series_id
      ), due as (
        select s.*, s.covered * wanted - case when s.reread_round = $2 then s.reread else '{}' end
                    - coalesce(h.ranges, '{}') as left_over
        from ranged s left join held h on h.series_id = s.id,
             lateral (select tstzmultirange(s.tracked * tstzrange(s.since, s.until)) as wanted) w
        where s.since < s.until and wanted - s.covered <@ coalesce(h.ranges, '{}')
      ), first as (
        select * from due where not isempty(left_over) order by reread_at nulls first, id limit $4
      )
      select ${seriesColumns}, lower(r) as start, upper(r) as end
      from first s, unnest(s.left_over) r
      order by s.reread_at nulls first, s.id, r`,
    values: [
      timestamp(query.nowMs),
      timestamp(query.roundMs),
      query.rangeMs,
      query.most,
      query.seriesIds,
      query.everyMs,
    ],
  });
  return rangesBySeries(result.rows);
}

/**
 * Takes down what of the trailing range the windows of a round have read, within the commit's transaction. What an answer
 * did not reach, such as one that was cut short, stays to be read in this round.
 */
export async function markReread(client: pg.PoolClient, windows: readonly Judged[]): Promise<void> {
  for (const { seriesId, window, judgement, nowMs } of windows) {
    if (window.roundMs === undefined || judgement.covered === null) continue;
    await client.query({
      name: 'mark-reread',
      text: `update tidemark.series
                set reread = tstzmultirange($2::tstzrange) + case when reread_round = $3 then reread else '{}' end,
                    reread_round = $3, reread_at = greatest(reread_at, $4)
              where id = $1 and (reread_round is null or reread_round <= $3)`,
      values: [
        seriesId,
        timeRange(judgement.covered.startMs, judgement.covered.endMs),
        timestamp(window.roundMs),
        timestamp(nowMs),
      ],
    });
    await client.query({
      name: 'settle-reread',
      text: 'delete from tidemark.pending_windows where series_id = $1 and of_covered and range <@ $2::tstzrange',
      values: [seriesId, timeRange(judgement.covered.startMs, judgement.covered.endMs)],
    });
  }
}
