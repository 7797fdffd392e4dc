/** Empty answers: an empty range is confirmed only when a second answer agrees. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Window } from '../../model/window.ts';
import { longestPauseMs } from '../../planning/verdict.ts';
import { type Database, inTransaction, timeRange, timestamp } from '../db/database.ts';
import { isAwaiting } from '../series/gap-reasons.ts';
import { deleteCoveredWindows } from './deferred-windows.ts';
import type { EvaluatedWindow } from './evaluate-answers.ts';
import type { CommitRules, WindowResult } from './prepare-window.ts';

/** Whether a pending range is silent for longer than a pause: no empty answer counts for it yet. */
const isLongSilence = `(reason = 'silent'
                        and upper(range) - lower(range) > make_interval(secs => ${longestPauseMs / 1000}))`;
/** Pause of the newest data then: otherwise each planning pass would send the same request. */
const truncatedTailRetryMs = 60_000;

/**
 * Records an answer with no points in its window, and points beside it on one side at most. It may be
 * truncated to those, so it does not prove a silence. The window is requested alone next, at once: a cap
 * leaves a row in any answer that has one. An answer that lacks stored points counts for nothing.
 */
export async function recordSilence(client: pg.PoolClient, window: EvaluatedWindow): Promise<void> {
  const { nowMs, evaluation } = window;
  const retryAtMs = nowMs + (window.window.lane === 'refresh' ? truncatedTailRetryMs : 0);
  const said = evaluation.isContradicted
    ? (['truncated', 'the answer lacks points that are stored beside the window'] as const)
    : (['silent', 'the source answered with points beside the window only'] as const);
  await awaitAnswerAlone(client, window, evaluation.rest, said, retryAtMs);
}

/**
 * Leaves out the coverage of windows without a point between two points, where that is far longer than usual: a silence that the
 * border of two windows divides. Only the whole series shows what is usual.
 */
export async function holdUnusualSilences(
  client: pg.PoolClient,
  windows: readonly EvaluatedWindow[],
): Promise<EvaluatedWindow[]> {
  const held: EvaluatedWindow[] = [];
  for (const window of windows) {
    const { evaluation, rules, answer, lacking } = window;
    const { covered } = evaluation;
    const isSilent =
      evaluation.verdict === 'filled' && window.points.timesMs.length === 0 && window.seen.rejectedWithin === 0;
    const mayBeUnusual = isSilent && rules.isAbsenceUnknown === true && answer.isWhole !== true;
    if (mayBeUnusual && covered !== null && (await isUnusual(client, window.window.seriesId, covered)))
      held.push({
        ...window,
        lacking: { ...lacking, silences: [covered] },
        evaluation: { ...evaluation, covered: null },
      });
    else held.push(window);
  }
  return held;
}

async function isUnusual(client: pg.PoolClient, seriesId: number, { startMs, endMs }: Range): Promise<boolean> {
  const { rows } = await client.query<{ long: boolean }>({
    name: 'unusual-silence',
    text: `select exists (
             select from tidemark.silence_rules l
             where $3::double precision >= l.seconds
               and $3 * s.points > l.times_usual * (others + l.granted_seconds)) as long
           from tidemark.series s, lateral (
             select greatest(0, (select coalesce(sum(date_part('epoch', upper(r) - lower(r))), 0)
                                 from unnest(s.covered - s.before_beginning - tstzmultirange($2::tstzrange)) r)
                                - s.points * date_part('epoch', s.period)) as others) o
           where s.id = $1`,
    values: [seriesId, timeRange(startMs, endMs), (endMs - startMs) / 1000],
  });
  return rows[0]?.long === true;
}

/** Records silences that are far longer than usual. They are requested alone next: an empty answer confirms them. */
export async function recordUnusualSilences(client: pg.PoolClient, window: EvaluatedWindow): Promise<void> {
  const said = ['unusual', 'no point for far longer than usual'] as const;
  await awaitAnswerAlone(client, window, window.lacking.silences, said, window.nowMs);
}

async function awaitAnswerAlone(
  client: pg.PoolClient,
  { window: { seriesId }, nowMs, attempt }: EvaluatedWindow,
  ranges: readonly Range[],
  said: readonly [reason: Reason, message: string],
  retryAtMs: EpochMs,
): Promise<void> {
  for (const { startMs, endMs } of ranges) {
    await client.query({
      name: 'record-silence',
      text: `insert into tidemark.pending_windows as p
               (series_id, range, reason, message, attempts, first_at, retry_at)
             select s.id, r, $4, $5, $6, $3, $7
             from tidemark.series s, unnest(tstzmultirange($2::tstzrange) - s.covered - (
               select coalesce(range_agg(range), '{}') from tidemark.pending_windows
               where series_id = $1 and ${isAwaiting('reason')} and range && $2::tstzrange)) r
             where s.id = $1
             on conflict (series_id, range) do update
               set reason = excluded.reason, kind = null, message = excluded.message,
                   attempts = p.attempts + excluded.attempts, retry_at = excluded.retry_at`,
      values: [...[seriesId, timeRange(startMs, endMs), timestamp(nowMs), ...said, attempt], timestamp(retryAtMs)],
    });
  }
}

/**
 * Records an empty answer. It confirms the ranges that an earlier empty answer, at least `emptyConfirmMs`
 * ago, covers too. The rest awaits its own second answer.
 *
 * An answer with points beside the range only is not an empty answer. It counts as the first one where the
 * silence is no longer than a pause; the second may then come at once, except of the newest data. A source that
 * has lost hours of a series for a while answers like that too.
 *
 * @param options.mayConfirm false: the answer held points, and counts as the first one at most.
 */
export async function recordEmptyAnswer(
  client: pg.PoolClient,
  answered: {
    readonly window: Pick<Window, 'seriesId' | 'lane'>;
    readonly nowMs: EpochMs;
    readonly rules: Pick<CommitRules, 'emptyConfirmMs'>;
  },
  closed: Range | null,
  options: { readonly reason?: Reason; readonly message?: string; readonly mayConfirm?: boolean } = {},
): Promise<Pick<WindowResult, 'verdict' | 'covered'>> {
  const { nowMs, window } = answered;
  const { seriesId } = window;
  const { emptyConfirmMs } = answered.rules;
  const { reason = 'awaiting', message = 'the source answered without points', mayConfirm = true } = options;
  if (window.lane === 'refresh') {
    await client.query('update tidemark.series set refreshed_at = $2 where id = $1', [seriesId, timestamp(nowMs)]);
  }
  if (closed === null) return { verdict: 'empty', covered: null };
  const range = timeRange(closed.startMs, closed.endMs);
  await client.query(
    `update tidemark.pending_windows set reason = $3, message = $4, first_at = $5, retry_at = $6
     where series_id = $1 and range <@ $2::tstzrange and ${isLongSilence}`,
    [seriesId, range, reason, message, timestamp(nowMs), timestamp(nowMs + emptyConfirmMs)],
  );
  // Unconfirmed ranges wait again. Otherwise the next planning pass would send the same request.
  if (!mayConfirm)
    await client.query(
      `update tidemark.pending_windows set retry_at = $3
       where series_id = $1 and ${isAwaiting('reason')} and range && $2::tstzrange and retry_at < $3`,
      [seriesId, range, timestamp(nowMs + emptyConfirmMs)],
    );
  const result = await client.query<{ some: boolean; whole: boolean }>(
    `with agreed as (
       select range_agg(range) * tstzmultirange($2::tstzrange) as ranges from tidemark.pending_windows
       where series_id = $1 and ${isAwaiting('reason')} and range && $2::tstzrange and $9
         and not ${isLongSilence} and (first_at <= $3 or $8 and reason in ('silent', 'unusual'))
     ), asked as (
       select tstzmultirange($2::tstzrange) - s.covered as ranges from tidemark.series s where s.id = $1
     ), confirmed as (
       update tidemark.series s
          set covered = s.covered + agreed.ranges,
              -- A stored point, such as a candle written while it was open, keeps its period from being
              -- called empty.
              confirmed_empty = s.confirmed_empty + (agreed.ranges - s.covered - s.uncovered_points),
              uncovered_points = s.uncovered_points - agreed.ranges
         from agreed where s.id = $1 and not isempty(agreed.ranges)
       returning 1
     ), held as (
       select coalesce(range_agg(range), '{}') as ranges from tidemark.pending_windows
       where series_id = $1 and ${isAwaiting('reason')} and range && $2::tstzrange and not ${isLongSilence}
     ), waiting as (
       insert into tidemark.pending_windows as p (series_id, range, reason, message, first_at, retry_at)
       select $1, r, $6, $7, $4, $5
       from asked, held, unnest(asked.ranges - held.ranges) r
       on conflict (series_id, range) do update
         set reason = excluded.reason, kind = null, message = excluded.message, attempts = p.attempts + 1,
             first_at = case when ${isAwaiting('p.reason')} then p.first_at else excluded.first_at end,
             retry_at = excluded.retry_at
     )
     select exists (select from confirmed) as some, asked.ranges <@ coalesce(agreed.ranges, '{}') as whole
     from asked left join agreed on true`,
    [
      ...[seriesId, range, timestamp(nowMs - emptyConfirmMs), timestamp(nowMs)],
      ...[timestamp(nowMs + emptyConfirmMs), reason, message, window.lane !== 'refresh', mayConfirm],
    ],
  );
  const confirmed = result.rows[0];
  if (confirmed?.some !== true) return { verdict: 'empty', covered: null };
  await deleteCoveredWindows(client, [seriesId]);
  return confirmed.whole ? { verdict: 'confirmed_empty', covered: closed } : { verdict: 'empty', covered: null };
}

/**
 * Stores when the confirmed empty ranges of these windows were last answered empty. Runs within the commit's
 * transaction, after the coverage has moved.
 */
export async function recordEmptyTimes(client: pg.PoolClient, windows: readonly EvaluatedWindow[]): Promise<void> {
  for (const { window, evaluation, points, nowMs } of windows) {
    const silent = points.timesMs.length === 0 ? [evaluation.covered] : evaluation.rest;
    await recordConfirmedEmpty(
      client,
      window.seriesId,
      silent.filter((range) => range !== null),
      nowMs,
    );
  }
}

/** Stores when these ranges, as far as they are confirmed empty, were last answered empty. */
export async function recordConfirmedEmpty(
  client: pg.PoolClient,
  seriesId: number,
  ranges: readonly Range[],
  nowMs: EpochMs,
): Promise<void> {
  if (ranges.length === 0) return;
  await client.query({
    name: 'record-confirmed-empty',
    text: `with parts as (
             select part from tidemark.series s,
                  unnest(s.confirmed_empty * (select range_agg(r) from unnest($2::tstzrange[]) r)) part
             where s.id = $1
           ), replaced as (
             delete from tidemark.empty_answers e using parts
             where e.series_id = $1 and e.range <@ part and e.range <> part
           )
           insert into tidemark.empty_answers as e (series_id, range, answered_at) select $1, part, $3 from parts
           on conflict (series_id, range) do update set answered_at = greatest(e.answered_at, excluded.answered_at)`,
    values: [seriesId, ranges.map(({ startMs, endMs }) => timeRange(startMs, endMs)), timestamp(nowMs)],
  });
}

/**
 * Covers the part of a range that was answered empty once and awaits its second answer. All of it becomes
 * part of `confirmed_empty`, with the time of that answer, so that `repair --empty-older-than` requests it
 * again like any other.
 *
 * @returns whether there was any.
 */
export function acceptEmptyAnswers(
  database: Database,
  { seriesId, within }: { readonly seriesId: number; readonly within: Range },
): Promise<boolean> {
  return inTransaction(database, async (client) => {
    // A commit with points deletes the empty ranges that it refutes. It either comes first, or finds this
    // range covered.
    await client.query('select from tidemark.series where id = $1 for no key update', [seriesId]);
    const accepted = await client.query<Range & { answeredAtMs: EpochMs }>(
      `with empty as (
         select range_agg(range) * $2::tstzrange::tstzmultirange as ranges, min(first_at) as answered_at,
                coalesce(range_agg(range) filter (where reason = 'awaiting_days'), '{}') as by_days
         from tidemark.pending_windows
         -- A range with points beside it only has not been answered empty yet.
         where series_id = $1 and ${isAwaiting('reason')} and reason <> 'silent' and range && $2
       ), accepted as (
         select e.ranges - s.covered as ranges, e.ranges - s.covered - s.uncovered_points as without_points,
                e.by_days, e.answered_at
         from empty e, tidemark.series s where s.id = $1
       ), taken as (
         update tidemark.series s
            set covered = s.covered + a.ranges,
                confirmed_empty = s.confirmed_empty + a.without_points,
                before_beginning = s.before_beginning + a.without_points * a.by_days,
                uncovered_points = s.uncovered_points - a.ranges
           from accepted a where s.id = $1 and not isempty(a.ranges)
         returning a.ranges, a.answered_at
       )
       select lower(r) as "startMs", upper(r) as "endMs", answered_at as "answeredAtMs" from taken, unnest(ranges) r`,
      [seriesId, timeRange(within.startMs, within.endMs)],
    );
    const [first] = accepted.rows;
    if (first === undefined) return false;
    await deleteCoveredWindows(client, [seriesId]);
    await recordConfirmedEmpty(client, seriesId, accepted.rows, first.answeredAtMs);
    return true;
  });
}
