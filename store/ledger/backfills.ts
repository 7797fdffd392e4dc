/**
 * The record of backfills. A row without an end may go on, whatever its state says: the process may have been killed,
 * and a scheduler may make its requests. What is true now follows from coverage (operations/backfill/list.ts).
 */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import type { BackfillKind, BackfillState } from '../../model/lanes.ts';
import type { Database } from '../db/database.ts';
import {
  bool,
  int4,
  int8,
  jsonb,
  listOf,
  nullable,
  oneOf,
  openRange,
  type RowOf,
  range,
  rowsOf,
  statement,
  text,
  time,
} from '../db/statement.ts';
import { identity, identityColumns, isNamed, isUnknown, seriesNameSql } from '../series/series.ts';

const backfilledSeries = {
  seriesId: int4,
  /** What is asked for: whole closed periods. */
  range,
  /** What was tracked before; null: nothing. */
  before: nullable(openRange),
  /** What is tracked since; null: of a repair or a verification, which tracks nothing. */
  after: nullable(openRange),
};
export type BackfilledSeries = RowOf<typeof backfilledSeries>;

export interface NewBackfill {
  readonly kind: BackfillKind;
  /** Who asks. */
  readonly by: string;
  readonly series: readonly BackfilledSeries[];
}

/** Of the windows of a repair or a verification. */
export interface WindowsSettled {
  readonly done: number;
  readonly of: number;
  /** Null: unknown. */
  readonly etaMs: number | null;
}

/** How many are kept. */
const kept = 1000;

/** A process that gives no sign for this long has ended. */
const isAlive = `coalesce(b.seen_at > now() - interval '30 seconds', false)`;
const tracks = `b.kind in ('backfill', 'track', 'watch_list')`;

/**
 * @param isAlive whether a process does it, which will give signs of life.
 * @returns its id.
 */
export async function insertBackfill(
  client: pg.Pool | pg.PoolClient,
  { kind, by, series }: NewBackfill,
  { nowMs, isAlive }: { readonly nowMs: EpochMs; readonly isAlive: boolean },
): Promise<number> {
  const { id } = await insert.one(client, { nowMs, by, kind, isAlive, series });
  await endContinued.on(client, { id, kind, nowMs });
  await deleteOld.on(client, { id: id - kept });
  return id;
}

// What an earlier one of its kind has tracked, which may go on, was tracked for this one too.
const insert = statement({
  name: 'insert-backfill',
  text: `
    with made as (
      insert into tidemark.backfills (asked_at, asked_by, kind, state, seen_at)
      values ($nowMs, $by, $kind, 'running', case when $isAlive then now() end) returning id
    ), added as (
      insert into tidemark.backfill_series (backfill_id, series_id, range, before, after)
      select made.id, series.series_id, series.range,
             case when open.backfill_id is null then series.before else open.before end, series.after
      from made cross join $series left join lateral (
        select o.backfill_id, o.before from tidemark.backfill_series o join tidemark.backfills b on b.id = o.backfill_id
        where o.series_id = series.series_id and b.ended_at is null and b.kind = $kind and o.after = series.before
        order by o.backfill_id desc limit 1
      ) open on true
    )
    select id from made`,
  parameters: { nowMs: time, by: text, kind: text, isAlive: bool, series: rowsOf(backfilledSeries) },
  row: { id: int8 },
});

/** The same command, run again, goes on with what an earlier one has left. */
const endContinued = statement({
  name: 'end-continued-backfills',
  text: `
    update tidemark.backfills b set ended_at = $nowMs, result = 'continued by ' || $id,
           state = case when b.state = 'running' then 'interrupted' else b.state end
    where b.id < $id and b.ended_at is null and b.kind = $kind and ${tracks} and not ${isAlive}
      and not exists (
        select from tidemark.backfill_series o
        where o.backfill_id = b.id and not exists (
          select from tidemark.backfill_series n
          where n.backfill_id = $id and n.series_id = o.series_id and n.range @> o.range
        )
      )`,
  parameters: { id: int8, kind: text, nowMs: time },
});

const deleteOld = statement({
  name: 'delete-old-backfills',
  text: 'delete from tidemark.backfills where id <= $id and ended_at is not null',
  parameters: { id: int8 },
});

/** A sign of life. @returns its state; none: it is not recorded any more. */
export const noteAlive = statement({
  name: 'note-alive-backfill',
  text: `update tidemark.backfills set seen_at = now(), progress = coalesce($progress, progress)
         where id = $id returning state`,
  parameters: { id: int8, progress: nullable(jsonb<WindowsSettled>()) },
  row: { state: oneOf<BackfillState>() },
});

/** The end of its process, unless it was cancelled. @param endedMs null: a scheduler may go on with it. */
export const endBackfill = statement({
  name: 'end-backfill',
  text: `update tidemark.backfills set state = $state, result = $result, ended_at = $endedMs, seen_at = null
         where id = $id and state <> 'cancelled'`,
  parameters: { id: int8, state: text, result: nullable(text), endedMs: nullable(time) },
});

/** How one ended that nobody ended. */
export const backfillEnds = {
  covered: 'complete',
  /** Covered as far as it is tracked. */
  settled: 'complete; the rest is no longer tracked',
  untracked: 'no longer tracked',
  /** The same as `settled`, where the source does not know some of it: their names follow. */
  unknown: 'complete; not known to the source, and no longer tracked: ',
} as const;

/** How many series that their source does not know are named. */
const named = 3;

/** How one ended of which nothing more is tracked. @param unknown names of series that their source does not know. */
export function settledText(unknown: readonly string[]): string {
  if (unknown.length === 0) return backfillEnds.settled;
  const rest = unknown.length - named;
  return `${backfillEnds.unknown}${unknown.slice(0, named).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** What is still tracked of the range `o` of the series `s`. */
const stillTracked = `case when s.untracked_at is null then tstzmultirange(o.range * s.tracked)
  else '{}'::tstzmultirange end`;
const isCovered = 's.covered @> o.range';
const isSettled = `s.covered @> ${stillTracked}`;
const isTracked = `${stillTracked} <> '{}'`;
/** Why nothing of it is tracked: its source does not know it. Null: another reason. */
const refusal = `case when s.untracked_at is not null and ${isUnknown}
  then 'UNKNOWN_AT_SOURCE: ' || coalesce(s.blocked_message, 'not found') end`;

/** Ends those that are covered as far as they are tracked, and those of which nothing is tracked any more. */
export const settleBackfills = statement({
  name: 'settle-backfills',
  text: `
    with open as (
      select b.id, bool_and(${isCovered}) as covered, bool_and(${isSettled}) as settled,
             bool_or(${isTracked}) as tracked,
             (array_agg(${refusal} order by s.id) filter (where ${refusal} is not null))[1] as refusal,
             array_agg(${seriesNameSql} order by s.id) filter (where ${refusal} is not null) as unknown
      from tidemark.backfills b join tidemark.backfill_series o on o.backfill_id = b.id
        join tidemark.series s on s.id = o.series_id
      where b.ended_at is null and ${tracks} and not ${isAlive} group by b.id
    )
    update tidemark.backfills b set ended_at = $nowMs, seen_at = null,
           state = case when covered or tracked then 'done'
                        when b.state <> 'running' then b.state
                        when refusal is not null then 'failed' else 'interrupted' end,
           result = case when covered then '${backfillEnds.covered}'
                         when tracked and unknown is null then '${backfillEnds.settled}'
                         when tracked then '${backfillEnds.unknown}' || array_to_string(unknown[:${named}], ', ')
                           || case when cardinality(unknown) > ${named}
                                   then ' and ' || cardinality(unknown) - ${named} || ' more' else '' end
                         else coalesce(b.result, refusal, '${backfillEnds.untracked}') end
    from open where open.id = b.id and (covered or settled or not tracked)`,
  parameters: { nowMs: time },
});

export type RecordedBackfill = RowOf<typeof recordedBackfills.row>;

/** Those that may go on first, then the newest first. @param id null: all. */
export const recordedBackfills = statement({
  name: 'recorded-backfills',
  isPlannedAnew: true,
  text: `
    select b.id, b.asked_at as "askedMs", b.asked_by as by, b.kind, b.state, b.result, b.ended_at as "endedMs",
           b.seen_at as "seenMs", ${isAlive} as "isAlive", b.progress, o.series, lower(o.range) as "fromMs",
           upper(o.range) as "toMs", o.first as "firstId"
    from (
      select * from tidemark.backfills where $id is null or id = $id order by ended_at is null desc, id desc limit $most
    ) b
    left join lateral (
      select count(*) as series, range_merge(range_agg(range)) as range, min(series_id) as first
      from tidemark.backfill_series where backfill_id = b.id
    ) o on true
    order by b.ended_at is null desc, b.id desc`,
  parameters: { id: nullable(int8), most: int4 },
  row: {
    ...{ id: int8, askedMs: time, by: text, kind: oneOf<BackfillKind>(), state: oneOf<BackfillState>() },
    ...{ result: nullable(text), endedMs: nullable(time), seenMs: nullable(time), isAlive: bool },
    ...{ progress: nullable(jsonb<WindowsSettled>()), series: int8, fromMs: nullable(time), toMs: nullable(time) },
    firstId: nullable(int4),
  },
});

export type SeriesOfBackfill = RowOf<typeof seriesOfBackfills.row>;

export const seriesOfBackfills = statement({
  name: 'series-of-backfills',
  isPlannedAnew: true,
  text: `
    select o.backfill_id as "backfillId", ${identityColumns}, o.range, ${isCovered} as "isCovered",
           ${isSettled} as "isSettled", ${isTracked} as "isTracked", ${refusal} as refusal
    from tidemark.backfill_series o join tidemark.series s on s.id = o.series_id
    where o.backfill_id = any ($ids) order by o.backfill_id, s.id`,
  parameters: { ids: listOf(int8) },
  row: {
    backfillId: int8,
    ...identity,
    range,
    isCovered: bool,
    isSettled: bool,
    isTracked: bool,
    refusal: nullable(text),
  },
});

/** @returns nothing when it has ended. */
export const cancelOpen = statement({
  name: 'cancel-open-backfill',
  text: `update tidemark.backfills set state = 'cancelled', result = 'cancelled by ' || $by, ended_at = $nowMs
         where id = $id and ended_at is null returning id`,
  parameters: { id: int8, by: text, nowMs: time },
  row: { id: int8 },
});

/**
 * Stops requesting a series that its source does not know, and that has no point. The watch list would track it again,
 * and a backfill that is under way says it and ends it itself: both keep it.
 *
 * @returns whether it was stopped.
 */
export async function untrackIfUnknown(
  { pool }: Database,
  query: { readonly seriesId: number; readonly nowMs: EpochMs },
): Promise<boolean> {
  return (await untrackUnknown.on(pool, query)).length > 0;
}

const untrackUnknown = statement({
  name: 'untrack-if-unknown',
  text: `
    with asking as (
      select b.id, b.kind, b.kind = 'backfill' and ${isAlive} as is_running
      from tidemark.backfill_series o join tidemark.backfills b on b.id = o.backfill_id
      where o.series_id = $seriesId and ${tracks}
    )
    update tidemark.series s set untracked_at = $nowMs
    where s.id = $seriesId and s.untracked_at is null and not ${isNamed} and ${isUnknown}
      and (select kind <> 'watch_list' from asking order by id desc limit 1)
      and not exists (select from asking where is_running)
    returning s.id`,
  parameters: { seriesId: int4, nowMs: time },
  row: { id: int4 },
});

/**
 * Takes back what it has tracked, except what a later one, or an earlier one that may go on, wants too. Points and
 * coverage stay. A series that the watch list has taken over, or that was changed otherwise since, stays as it is.
 *
 * @returns the series of which less is tracked.
 */
export const takeBack = statement({
  name: 'take-back-tracked',
  text: `
    with own as (
      select o.series_id, o.before, o.after, (
        select range_agg(other.after) from tidemark.backfill_series other
          join tidemark.backfills b on b.id = other.backfill_id
        where other.series_id = o.series_id and other.after is not null
          and (b.id > $id and b.state <> 'cancelled' or b.id < $id and b.ended_at is null)
      ) as others
      from tidemark.backfill_series o where o.backfill_id = $id and o.after is not null
    ), kept as (
      select series_id, after, others is not null as is_shared,
             case when others is null then before else range_merge(others + coalesce(tstzmultirange(before), '{}')) end
               as range
      from own where before is distinct from after
    )
    update tidemark.series s set tracked = coalesce(kept.range, s.tracked),
           untracked_at = case when kept.range is null then $nowMs end
    from kept
    where s.id = kept.series_id and s.untracked_at is null and (kept.range is not null or not ${isNamed})
      and (s.tracked = kept.after or kept.is_shared) and s.tracked is distinct from kept.range
    returning s.id as "seriesId", s.untracked_at is null as "isTracked"`,
  parameters: { id: int8, nowMs: time },
  row: { seriesId: int4, isTracked: bool },
});
