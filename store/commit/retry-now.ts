/** Makes deferred windows due, and lets refused series be requested again. */

import type { EpochMs } from '../../model/intervals.ts';
import { type Database, timestamp } from '../db/database.ts';
import { isAwaiting } from '../series/gap-reasons.ts';

/**
 * Windows that await a second answer stay deferred: two answers count as one if they come at once.
 *
 * @param seriesIds absent: every tracked series.
 * @returns the windows that are due now, and the series that were refused.
 */
export async function retryNow(
  database: Database,
  nowMs: EpochMs,
  seriesIds?: readonly number[],
): Promise<{ windows: number; series: number }> {
  const chosen = `select id from tidemark.series where untracked_at is null and ($2::int[] is null or id = any ($2))`;
  const result = await database.pool.query<{ windows: number; series: number }>(
    `with chosen as (${chosen}), due as (
       update tidemark.pending_windows set retry_at = $1
       where retry_at > $1 and not ${isAwaiting('reason')} and series_id in (select id from chosen) returning 1
     ), known as (
       update tidemark.series set blocked_until = null, blocked_kind = null, blocked_message = null
       where blocked_until > $1 and id in (select id from chosen) returning id
     ), asked as (
       update tidemark.series_sources set blocked_until = null
       where blocked_until > $1 and series_id in (select id from chosen) returning series_id
     )
     select (select count(*) from due) as windows,
            (select count(*) from (select id from known union select series_id from asked) s) as series`,
    [timestamp(nowMs), seriesIds],
  );
  return result.rows[0] ?? { windows: 0, series: 0 };
}
