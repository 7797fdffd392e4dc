/** Makes deferred windows due, and lets refused series be requested again. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Database } from '../db/database.ts';
import { int4, int8, listOf, nullable, range, ranges, statement, time } from '../db/statement.ts';
import { isAwaiting } from '../series/reason-sets.ts';
import { identity, identityColumns } from '../series/series.ts';

/** Which deferred windows and refused series. */
interface Chosen {
  /** Absent: every tracked series. */
  readonly seriesIds: readonly number[] | undefined;
  /** Absent: at any time. */
  readonly within: Range | undefined;
}

const parametersOf = ({ seriesIds, within }: Chosen, nowMs: EpochMs) => ({
  ...{ now: nowMs, seriesIds: seriesIds ?? null, within: within ?? null },
});

/**
 * Windows that await a second answer stay deferred: two answers count as one if they come at once. A window is due as a
 * whole, and a refusal is lifted of a series as a whole.
 *
 * @returns the windows that are due now, the series that were refused, and the windows that were due before.
 */
export async function retryNow(
  database: Database,
  nowMs: EpochMs,
  chosen: Chosen,
): Promise<{ windows: number; series: number; dueBefore: number }> {
  return makeDue.one(database.pool, parametersOf(chosen, nowMs));
}

/** What {@link retryNow} makes due of each series: the deferred windows, and what a refused series lacks up to now. */
export function readRetried(database: Database, nowMs: EpochMs, chosen: Chosen) {
  return retried.on(database.pool, parametersOf(chosen, nowMs));
}

const chosenSeries = `
      select id from tidemark.series
      where untracked_at is null and ($seriesIds is null or id = any ($seriesIds))
        and ($within is null or tracked && $within)`;
const isFailed = `not ${isAwaiting('reason')} and ($within is null or range && $within)`;
const isDeferred = `retry_at > $now and ${isFailed}`;
const parameters = { now: time, seriesIds: nullable(listOf(int4)), within: nullable(range) };

const makeDue = statement({
  name: 'make-due',
  text: `
    with chosen as (${chosenSeries}
    ), due as (
      update tidemark.pending_windows set retry_at = $now
      where ${isDeferred} and series_id in (select id from chosen) returning 1
    ), known as (
      update tidemark.series set blocked_until = null, blocked_kind = null, blocked_message = null
      where blocked_until > $now and id in (select id from chosen) returning id
    ), asked as (
      update tidemark.series_sources set blocked_until = null
      where blocked_until > $now and series_id in (select id from chosen) returning series_id
    )
    select (select count(*) from due) as windows,
           (select count(*) from (select id from known union select series_id from asked) s) as series,
           (select count(*) from tidemark.pending_windows
            where retry_at <= $now and ${isFailed} and series_id in (select id from chosen)) as "dueBefore"`,
  parameters,
  row: { windows: int8, series: int8, dueBefore: int8 },
});

const retried = statement({
  name: 'retried',
  isPlannedAnew: true,
  text: `
    with chosen as (${chosenSeries}
    ), deferred as (
      select series_id, range_agg(range) as ranges from tidemark.pending_windows
      where ${isDeferred} and series_id in (select id from chosen) group by series_id
    ), refused as (
      select id, tstzmultirange(tracked * tstzrange(null, $now)) - covered as ranges from tidemark.series s
      where id in (select id from chosen) and (blocked_until > $now or exists (
        select from tidemark.series_sources x where x.series_id = s.id and x.blocked_until > $now))
    )
    select ${identityColumns}, coalesce(d.ranges, '{}') + coalesce(r.ranges, '{}') as ranges
    from tidemark.series s left join deferred d on d.series_id = s.id left join refused r on r.id = s.id
    where d.series_id is not null or r.id is not null order by s.id`,
  parameters,
  row: { ...identity, ranges },
});
