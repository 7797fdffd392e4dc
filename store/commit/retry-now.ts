/** Makes deferred windows due, and lets refused series be requested again. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Database } from '../db/database.ts';
import { int4, int8, listOf, nullable, statement, time } from '../db/statement.ts';
import { isAwaiting } from '../series/reason-sets.ts';

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
  const [counts] = await makeDue.on(database.pool, { now: nowMs, seriesIds: seriesIds ?? null });
  return counts ?? { windows: 0, series: 0 };
}

const makeDue = statement({
  name: 'make-due',
  text: `
    with chosen as (
      select id from tidemark.series where untracked_at is null and ($seriesIds is null or id = any ($seriesIds))
    ), due as (
      update tidemark.pending_windows set retry_at = $now
      where retry_at > $now and not ${isAwaiting('reason')} and series_id in (select id from chosen) returning 1
    ), known as (
      update tidemark.series set blocked_until = null, blocked_kind = null, blocked_message = null
      where blocked_until > $now and id in (select id from chosen) returning id
    ), asked as (
      update tidemark.series_sources set blocked_until = null
      where blocked_until > $now and series_id in (select id from chosen) returning series_id
    )
    select (select count(*) from due) as windows,
           (select count(*) from (select id from known union select series_id from asked) s) as series`,
  parameters: { now: time, seriesIds: nullable(listOf(int4)) },
  row: { windows: int8, series: int8 },
});
