/**
 * Ranges to read again: trailing ranges of this round (planning/reread.ts), and ranges that were confirmed
 * empty long ago, which the source may have filled since.
 */

import type pg from 'pg';
import { dayMs, type EpochMs, minuteMs } from '../../model/intervals.ts';
import { clip, subtract } from '../../model/ranges.ts';
import { gridOrigin } from '../../model/rollup-levels.ts';
import type { OfferFacts } from '../../model/sources.ts';
import type { RereadDue } from '../../planning/reread.ts';
import type { Database } from '../db/database.ts';
import { float8, int4, listOf, nullable, range, ranges, rowsOf, statement, text, time } from '../db/statement.ts';
import { identity, identityColumns } from '../series/series.ts';
import { byKindOfSource, isOfSource } from '../series/sources.ts';
import { deferWindow } from './deferred-windows.ts';
import { type EvaluatedWindow, hasStoredPoint } from './evaluate-answers.ts';

export interface RereadQuery {
  /** Start of the round. */
  readonly roundMs: EpochMs;
  readonly nowMs: EpochMs;
  /** Length of the trailing range. */
  readonly rangeMs: number;
  readonly everyMs: number;
  /** Limit on series. Those whose last re-read is longest ago come first. */
  readonly limit: number;
  readonly seriesIds?: readonly number[] | undefined;
  /** Absent: all. */
  readonly source?: string | undefined;
}

/**
 * Series whose covered trailing range was not read again in this round. Left out are series with a gap in
 * that range: filling it comes first, and the rest would cost a request of its own. So are series that began
 * in this round: all of their data is fresh.
 */
export async function readDueRereads(database: Database, query: RereadQuery): Promise<RereadDue[]> {
  const { rangeMs, everyMs, seriesIds = null, source = null } = query;
  const lengths = { rangeSeconds: rangeMs / 1000, everySeconds: everyMs / 1000 };
  return dueRereads(query.source).on(database.pool, { ...query, ...lengths, seriesIds, source });
}

const dueRereads = byKindOfSource((source, ofKind) =>
  statement({
    name: `rereads-due ${ofKind}`,
    text: `
      with ranged as (
        select s.*, date_bin(s.period, $roundMs - make_interval(secs => $rangeSeconds), ${gridOrigin}) as since,
               least(upper(s.tracked), date_bin(s.period, $roundMs, ${gridOrigin})) as until
        from tidemark.series s
        where s.untracked_at is null and (s.blocked_until is null or s.blocked_until <= $nowMs)
          and ($seriesIds is null or s.id = any ($seriesIds))
          and ${source === undefined ? '$source is null' : isOfSource(source, '$source')}
          and not (s.created_at >= $roundMs and s.created_at < $roundMs + make_interval(secs => $everySeconds))
      ), held as (
        select series_id, range_agg(range) as ranges from tidemark.pending_windows where retry_at > $nowMs group by
          series_id
      ), due as (
        select s.*, s.covered * wanted - case when s.reread_round = $roundMs then s.reread else '{}' end
                    - coalesce(h.ranges, '{}') as left_over
        from ranged s left join held h on h.series_id = s.id,
             lateral (select tstzmultirange(s.tracked * tstzrange(s.since, s.until)) as wanted) w
        where s.since < s.until and wanted - s.covered <@ coalesce(h.ranges, '{}')
      )
      select ${identityColumns}, s.left_over as ranges from due s
      where not isempty(left_over) order by reread_at nulls first, id limit $limit`,
    parameters: {
      ...{ nowMs: time, roundMs: time, rangeSeconds: float8, everySeconds: float8 },
      ...{ limit: int4, seriesIds: nullable(listOf(int4)), source: nullable(text) },
    },
    row: { ...identity, ranges },
  }),
);

/**
 * What an archive gave of series of which a source has a value more (`addsSinceMs` of its offers), once it has given
 * all, without what was asked for in vain just now.
 */
export async function readLackingValues(
  database: Database,
  query: Pick<RereadQuery, 'nowMs' | 'limit' | 'seriesIds'> & { readonly source: string },
  offers: readonly OfferFacts[],
): Promise<RereadDue[]> {
  const adding = offers.flatMap(({ dataset, addsSinceMs }) =>
    addsSinceMs === undefined ? [] : [{ dataset, since: addsSinceMs }],
  );
  if (adding.length === 0) return [];
  const { nowMs: now, limit, seriesIds = null, source } = query;
  return lackingValues.on(database.pool, { now, limit, seriesIds, source, adding });
}

const lackingValues = statement({
  name: 'lacking-values',
  text: `
    select ${identityColumns}, l.ranges
    from $adding join tidemark.series s on s.dataset = adding.dataset
    join tidemark.series_sources own on own.series_id = s.id and own.source = $source,
         lateral (
      select range_agg(g.covered) * s.covered * tstzmultirange(s.tracked * tstzrange(adding.since, null))
             - coalesce(range_agg(p.held), '{}') as ranges,
             -- Newer than any file: what is refreshed.
             tstzmultirange(s.tracked * tstzrange(null, $now - interval '1 day')) - s.covered
             - coalesce(range_agg(p.every), '{}') as open
      from tidemark.series_sources x join tidemark.source_ranges g using (series_id, source),
           (select range_agg(range) as every, range_agg(range) filter (where retry_at > $now) as held
            from tidemark.pending_windows p where p.series_id = s.id) p
      where x.series_id = s.id and x.archive) l
    where s.untracked_at is null and coalesce(own.blocked_until <= $now, true) and isempty(l.open)
      -- Only the source that gives the newest data rereads.
      and not exists (select from tidemark.series_sources b
                      where b.series_id = s.id and not b.archive and b.rank < own.rank)
      and ($seriesIds is null or s.id = any ($seriesIds)) and not isempty(l.ranges)
    order by s.id limit $limit`,
  parameters: {
    ...{ adding: rowsOf({ dataset: text, since: time }), source: text, now: time },
    ...{ limit: int4, seriesIds: nullable(listOf(int4)) },
  },
  row: { ...identity, ranges },
});

/** Longest pause of a reread whose answer is empty, though points are stored. */
const emptiedRetryMs = 10 * minuteMs;
/** Pause of one whose answer has rows and proves nothing of the window: the source lacks it. */
const unprovedRetryMs = dayMs;

/**
 * Records which part of the trailing range the windows of a round have read, within the commit's transaction.
 * The part beyond a truncated answer stays to be read in this round.
 */
export async function markReread(client: pg.PoolClient, windows: readonly EvaluatedWindow[]): Promise<void> {
  for (const evaluated of windows) {
    const { window, evaluation, rules, attempt, nowMs, seen } = evaluated;
    if (window.lane !== 'reread') continue;
    const { seriesId } = window;
    const { covered } = evaluation;
    if (covered === null || !(await provesAny(client, evaluated))) {
      const emptiedMs = Math.min(emptiedRetryMs, rules.failedRetryMs ?? emptiedRetryMs);
      const retryAtMs = nowMs + (seen.rows === 0 ? emptiedMs : unprovedRetryMs);
      await deferWindow(client, {
        ...{ seriesId, window, source: window.source, attempts: attempt, nowMs, reason: 'failed' },
        ...{ message: 'the answer proves nothing', retryAtMs, ofCovered: true },
      });
      continue;
    }
    const read = { seriesId, read: covered };
    await mark.on(client, { ...read, round: window.roundMs, now: nowMs });
    await deleteDeferred.on(client, read);
  }
}

/** Whether the answer to a reread says something of the window. */
async function provesAny(
  client: pg.PoolClient,
  { window, evaluation: { covered, verdict }, lacking }: EvaluatedWindow,
): Promise<boolean> {
  if (covered === null || clip(subtract([covered], lacking.holes), window).length === 0) return false;
  const { seriesId, series, startMs, endMs } = window;
  return verdict !== 'empty' || !(await hasStoredPoint(client, seriesId, series.dataset, startMs, endMs));
}

const mark = statement({
  name: 'mark-reread',
  text: `update tidemark.series
            set reread = tstzmultirange($read) + case when reread_round = $round then reread else '{}' end,
                reread_round = $round, reread_at = greatest(reread_at, $now)
          where id = $seriesId and (reread_round is null or reread_round <= $round)`,
  parameters: { seriesId: int4, read: range, round: time, now: time },
});

const deleteDeferred = statement({
  name: 'delete-reread',
  text: `delete from tidemark.pending_windows where series_id = $seriesId and of_covered and range <@ $read`,
  parameters: { seriesId: int4, read: range },
});

/**
 * Reads the confirmed empty ranges without a recent answer.
 *
 * @param sinceMs ranges that were answered empty again since are left out. @param seriesIds absent: every series.
 */
export async function readOldEmptyRanges(
  database: Database,
  sinceMs: EpochMs,
  seriesIds: readonly number[] | undefined,
) {
  // Ranges that have been filled since are no longer confirmed empty, and their rows are obsolete.
  await deleteFilled.on(database.pool, {});
  return oldEmptyRanges.on(database.pool, { since: sinceMs, seriesIds: seriesIds ?? null });
}

const deleteFilled = statement({
  name: 'delete-filled-answers',
  text: `delete from tidemark.empty_answers e using tidemark.series s
         where s.id = e.series_id and not e.range && s.confirmed_empty`,
});

const oldEmptyRanges = statement({
  name: 'old-empty-ranges',
  isPlannedAnew: true,
  text: `
    with recent as (
      select series_id, range_agg(range) as ranges from tidemark.empty_answers where answered_at > $since group by
        series_id
    )
    select ${identityColumns}, o.ranges - s.before_beginning as ranges, o.ranges * s.before_beginning as before,
           least(s.earliest, s.begins) as "knownMs"
    from tidemark.series s left join recent on recent.series_id = s.id,
         lateral (select s.confirmed_empty - coalesce(recent.ranges, '{}') as ranges offset 0) o
    where ($seriesIds is null or s.id = any ($seriesIds)) and not isempty(o.ranges) order by s.id`,
  parameters: { since: time, seriesIds: nullable(listOf(int4)) },
  row: {
    ...{ ...identity, ranges },
    /** Those before the beginning of the series, which were requested by days. */
    before: ranges,
    /** The earliest time with a point. */
    knownMs: nullable(time),
  },
});
