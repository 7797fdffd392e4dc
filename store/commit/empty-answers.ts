/** Empty answers: an empty range is confirmed only when a second answer agrees. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import { expiryMs } from '../../model/market.ts';
import type { Range } from '../../model/ranges.ts';
import type { Reason } from '../../model/reasons.ts';
import type { MarketSeries } from '../../model/series.ts';
import type { Window } from '../../model/window.ts';
import { proofOf } from '../../planning/proof.ts';
import { longestPauseMs } from '../../planning/verdict.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { bool, float8, int4, nullable, range, ranges, statement, text, time } from '../db/statement.ts';
import { lockSeries } from '../series/lock.ts';
import { isAwaiting } from '../series/reason-sets.ts';
import { deleteCoveredWindows } from './deferred-windows.ts';
import type { EvaluatedWindow } from './evaluate-answers.ts';
import { recordGiven } from './given-ranges.ts';
import type { CommitRules, WindowResult } from './prepare-window.ts';

/** Whether a pending range is silent for longer than a pause: no empty answer counts for it yet. */
const isLongSilence = `(reason = 'silent'
                        and upper(range) - lower(range) > make_interval(secs => ${longestPauseMs / 1000}))`;
/** Longest pause of the newest data then. Without one each planning pass would send the same request. */
const truncatedTailRetryMs = 60_000;

/**
 * Records an answer with no points in its window, and points beside it on one side at most. It may be
 * truncated to those, so it does not prove a silence. The window is requested alone next, at once: a cap
 * leaves a row in any answer that has one. An answer that lacks stored points counts for nothing.
 */
export async function recordSilence(client: pg.PoolClient, window: EvaluatedWindow): Promise<void> {
  const { nowMs, evaluation, rules } = window;
  const pauseMs = Math.min(truncatedTailRetryMs, rules.failedRetryMs ?? truncatedTailRetryMs);
  const retryAtMs = nowMs + (window.window.lane === 'refresh' ? pauseMs : 0);
  const said = evaluation.isContradicted
    ? (['truncated', 'the answer lacks points that are stored before or after this range'] as const)
    : (['silent', 'the answer had points before or after this range, none in it'] as const);
  await awaitAnswerAlone(client, window, evaluation.rest, said, retryAtMs);
}

/**
 * Leaves out the coverage of windows without a point between two points, where that is far longer than usual: a silence
 * that the border of two windows divides. Only the whole series shows what is usual.
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

/**
 * Takes an answer that proves nothing of its window for a statement that the source lacks the closed part of it, where
 * the series never pauses and has points before it. It may be truncated or falsely empty: it is requested again. Only a
 * market that is no longer traded may have ended before.
 */
export async function lackAfterPoints(
  client: pg.PoolClient,
  windows: readonly EvaluatedWindow[],
): Promise<EvaluatedWindow[]> {
  const lacking: EvaluatedWindow[] = [];
  for (const window of windows) {
    const { evaluation } = window;
    const hole = await findHole(client, window);
    if (hole === null) lacking.push(window);
    else
      lacking.push({
        ...{ ...window, unproved: hole },
        lacking: { ...window.lacking, missing: [hole] },
        evaluation: {
          ...{ ...evaluation, verdict: 'cut_short', isContradicted: false },
          covered: evaluation.verdict === 'empty' ? null : evaluation.covered,
          rest: evaluation.rest.filter((range) => range !== hole),
        },
      });
  }
  return lacking;
}

async function findHole(client: pg.PoolClient, evaluated: EvaluatedWindow): Promise<Range | null> {
  const { window, evaluation, nowMs } = evaluated;
  const { verdict, covered, rest } = evaluation;
  const isUnproved = verdict === 'cut_short' && (covered === null || isTailWithout(evaluated));
  const unproved = verdict === 'empty' ? covered : isUnproved ? rest.at(-1) : null;
  if (unproved == null || proofOf(window.series).mayPause) return null;
  const { quoteId = '' } = window.series as Partial<MarketSeries>;
  const isDelivered = (expiryMs(quoteId) ?? Number.POSITIVE_INFINITY) <= nowMs;
  const [found] = await afterPoints.on(client, { seriesId: window.seriesId, range: unproved, isDelivered });
  return found === undefined ? null : unproved;
}

/** Whether an answer for the newest data has no new point. */
export function isTailWithout({ window, changes }: EvaluatedWindow): boolean {
  return window.lane === 'refresh' && changes.fresh === 0;
}

const afterPoints = statement({
  name: 'is-after-points',
  text: `select from tidemark.series s
         where id = $seriesId and earliest < lower($range) and (
           $range <@ tstzrange(earliest, newest) or not $isDelivered and not exists (
             select from tidemark.series_sources x join tidemark.source_symbols m
               on (m.source, m.symbol) = (x.source, x.symbol)
             where x.series_id = s.id and (m.gone_since is not null or not m.trading)))`,
  parameters: { seriesId: int4, range, isDelivered: bool },
});

async function isUnusual(client: pg.PoolClient, seriesId: number, silence: Range): Promise<boolean> {
  const [found] = await unusual.on(client, { seriesId, silence, seconds: (silence.endMs - silence.startMs) / 1000 });
  return found?.isLong === true;
}

const unusual = statement({
  name: 'unusual-silence',
  text: `
    select exists (
      select from tidemark.silence_rules l
      where $seconds >= l.seconds
        and $seconds * s.points > l.times_usual * (others + l.granted_seconds)) as "isLong"
    from tidemark.series s, lateral (
      select greatest(0, (select coalesce(sum(date_part('epoch', upper(r) - lower(r))), 0)
                          from unnest(s.covered - s.before_beginning - tstzmultirange($silence)) r)
                         - s.points * date_part('epoch', s.period)) as others) o
    where s.id = $seriesId`,
  parameters: { seriesId: int4, silence: range, seconds: float8 },
  row: { isLong: bool },
});

/** Records silences that are far longer than usual. They are requested alone next: an empty answer confirms them. */
export async function recordUnusualSilences(client: pg.PoolClient, window: EvaluatedWindow): Promise<void> {
  const said = ['unusual', 'no point for far longer than usual'] as const;
  await awaitAnswerAlone(client, window, window.lacking.silences, said, window.nowMs);
}

async function awaitAnswerAlone(
  client: pg.PoolClient,
  { window: { seriesId }, nowMs, attempt: attempts }: EvaluatedWindow,
  ranges: readonly Range[],
  [reason, message]: readonly [reason: Reason, message: string],
  retryAtMs: EpochMs,
): Promise<void> {
  for (const range of ranges)
    await recordAlone.on(client, { seriesId, range, reason, message, attempts, nowMs, retryAtMs });
}

const recordAlone = statement({
  name: 'record-silence',
  text: `
    insert into tidemark.pending_windows as p (series_id, range, reason, message, attempts, first_at, retry_at)
    select s.id, r, $reason, $message, $attempts, $nowMs, $retryAtMs
    from tidemark.series s, unnest(tstzmultirange($range) - s.covered - (
      select coalesce(range_agg(range), '{}') from tidemark.pending_windows
      where series_id = $seriesId and ${isAwaiting('reason')} and range && $range)) r
    where s.id = $seriesId
    on conflict (series_id, range) do update
      set reason = excluded.reason, kind = null, message = excluded.message, of_covered = false,
          attempts = p.attempts + excluded.attempts, retry_at = excluded.retry_at`,
  parameters: {
    ...{ seriesId: int4, range, reason: text, message: text, attempts: int4 },
    ...{ nowMs: time, retryAtMs: time },
  },
});

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
    readonly window: Pick<Window, 'seriesId' | 'lane' | 'source'>;
    readonly nowMs: EpochMs;
    readonly rules: Pick<CommitRules, 'emptyConfirmMs'>;
  },
  closed: Range | null,
  options: { readonly reason?: Reason; readonly message?: string; readonly mayConfirm?: boolean } = {},
): Promise<Pick<WindowResult, 'verdict' | 'covered'>> {
  const { nowMs, window } = answered;
  const { seriesId, source } = window;
  const { emptyConfirmMs } = answered.rules;
  const { reason = 'awaiting', message = 'the source answered without points', mayConfirm = true } = options;
  const isNewest = window.lane === 'refresh';
  if (isNewest) await recordRefresh.on(client, { seriesId, now: nowMs });
  if (closed === null) return { verdict: 'empty', covered: null };
  const answer = { seriesId, range: closed, retryAt: nowMs + emptyConfirmMs };
  await shortenSilences.on(client, { ...answer, reason, message, now: nowMs });
  // Unconfirmed ranges wait again. Otherwise the next planning pass would send the same request.
  if (!mayConfirm) await waitAgain.on(client, answer);
  const [confirmed] = await confirmEmpty.on(client, {
    ...{ ...answer, reason, message, now: nowMs, mayConfirm },
    ...{ firstUntil: nowMs - emptyConfirmMs, isSilenceEnough: !isNewest },
  });
  if (confirmed == null || confirmed.ranges.length === 0) return { verdict: 'empty', covered: null };
  await recordGiven(client, [{ seriesId, source, ranges: confirmed.ranges }]);
  await deleteCoveredWindows.on(client, { seriesIds: [seriesId] });
  return confirmed.isWhole ? { verdict: 'confirmed_empty', covered: closed } : { verdict: 'empty', covered: null };
}

const recordRefresh = statement({
  name: 'record-refresh',
  text: 'update tidemark.series set refreshed_at = $now where id = $seriesId',
  parameters: { seriesId: int4, now: time },
});

const shortenSilences = statement({
  name: 'shorten-silences',
  text: `
    update tidemark.pending_windows set reason = $reason, message = $message, first_at = $now, retry_at = $retryAt
    where series_id = $seriesId and range <@ $range and ${isLongSilence}`,
  parameters: { seriesId: int4, range, reason: text, message: text, now: time, retryAt: time },
});

const waitAgain = statement({
  name: 'wait-again',
  text: `
    update tidemark.pending_windows set retry_at = $retryAt
    where series_id = $seriesId and ${isAwaiting('reason')} and range && $range and retry_at < $retryAt`,
  parameters: { seriesId: int4, range, retryAt: time },
});

const confirmEmpty = statement({
  name: 'confirm-empty',
  text: `
    with agreed as (
      select range_agg(range) * tstzmultirange($range) as ranges from tidemark.pending_windows
      where series_id = $seriesId and ${isAwaiting('reason')} and range && $range and $mayConfirm
        and not ${isLongSilence} and (first_at <= $firstUntil or $isSilenceEnough and reason in ('silent', 'unusual'))
    ), asked as (
      select tstzmultirange($range) - s.covered as ranges from tidemark.series s where s.id = $seriesId
    ), confirmed as (
      update tidemark.series s
         set covered = s.covered + agreed.ranges,
             -- A stored point, such as a candle written while it was open, keeps its period from being
             -- called empty.
             confirmed_empty = s.confirmed_empty + (agreed.ranges - s.covered - s.uncovered_points),
             uncovered_points = s.uncovered_points - agreed.ranges
        from agreed where s.id = $seriesId and not isempty(agreed.ranges)
      returning agreed.ranges
    ), held as (
      select coalesce(range_agg(range), '{}') as ranges from tidemark.pending_windows
      where series_id = $seriesId and ${isAwaiting('reason')} and range && $range and not ${isLongSilence}
    ), waiting as (
      insert into tidemark.pending_windows as p (series_id, range, reason, message, first_at, retry_at)
      select $seriesId, r, $reason, $message, $now, $retryAt
      from asked, held, unnest(asked.ranges - held.ranges) r
      on conflict (series_id, range) do update
        set reason = excluded.reason, kind = null, message = excluded.message, of_covered = false,
            attempts = p.attempts + 1,
            first_at = case when ${isAwaiting('p.reason')} then p.first_at else excluded.first_at end,
            retry_at = excluded.retry_at
    )
    select coalesce((select ranges from confirmed), '{}') as ranges,
           asked.ranges <@ coalesce(agreed.ranges, '{}') as "isWhole"
    from asked left join agreed on true`,
  parameters: {
    ...{ seriesId: int4, range, reason: text, message: text, now: time, retryAt: time, mayConfirm: bool },
    /** The first answer came no later than this, or was silent and that is enough. */
    ...{ firstUntil: time, isSilenceEnough: bool },
  },
  row: { ranges, isWhole: bool },
});

/**
 * Stores when the confirmed empty ranges of these windows were last answered empty. Runs within the commit's
 * transaction, after the coverage has moved.
 */
export async function recordEmptyTimes(client: pg.PoolClient, windows: readonly EvaluatedWindow[]): Promise<void> {
  for (const { window, evaluation, points, nowMs } of windows) {
    const silent = points.timesMs.length === 0 ? [evaluation.covered] : evaluation.rest;
    const ranges = silent.filter((range) => range !== null);
    await recordConfirmedEmpty(client, window.seriesId, ranges, nowMs);
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
  await recordAnswers.on(client, { seriesId, ranges, now: nowMs });
}

const recordAnswers = statement({
  name: 'record-confirmed-empty',
  text: `
    with parts as (
      select part from tidemark.series s, unnest(s.confirmed_empty * $ranges) part where s.id = $seriesId
    ), replaced as (
      delete from tidemark.empty_answers e using parts
      where e.series_id = $seriesId and e.range <@ part and e.range <> part
    )
    insert into tidemark.empty_answers as e (series_id, range, answered_at) select $seriesId, part, $now from parts
    on conflict (series_id, range) do update set answered_at = greatest(e.answered_at, excluded.answered_at)`,
  parameters: { seriesId: int4, ranges, now: time },
});

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
    await lockSeries(client, [seriesId]);
    const accepted = await acceptFirst.on(client, { seriesId, within });
    const [first] = accepted;
    if (first === undefined) return false;
    await deleteCoveredWindows.on(client, { seriesIds: [seriesId] });
    await recordConfirmedEmpty(client, seriesId, accepted, first.answeredAtMs);
    const { source } = first;
    if (source !== null) await recordGiven(client, [{ seriesId, source, ranges: accepted }]);
    return true;
  });
}

const acceptFirst = statement({
  name: 'accept-empty-answers',
  text: `
    with empty as (
      select range_agg(range) * tstzmultirange($within) as ranges, min(first_at) as answered_at,
             coalesce(range_agg(range) filter (where reason = 'awaiting_days'), '{}') as by_days
      from tidemark.pending_windows
      -- A range with points beside it only has not been answered empty yet.
      where series_id = $seriesId and ${isAwaiting('reason')} and reason <> 'silent' and range && $within
    ), accepted as (
      select e.ranges - s.covered as ranges, e.ranges - s.covered - s.uncovered_points as without_points,
             e.by_days, e.answered_at
      from empty e, tidemark.series s where s.id = $seriesId
    ), taken as (
      update tidemark.series s
         set covered = s.covered + a.ranges,
             confirmed_empty = s.confirmed_empty + a.without_points,
             before_beginning = s.before_beginning + a.without_points * a.by_days,
             uncovered_points = s.uncovered_points - a.ranges
        from accepted a where s.id = $seriesId and not isempty(a.ranges)
      returning a.ranges, a.answered_at
    )
    select lower(r) as "startMs", upper(r) as "endMs", answered_at as "answeredAtMs", (
             select f.source from tidemark.fetches f
             where f.series_id = $seriesId and f.range && $within and f.verdict = 'empty' order by f.time desc limit 1
           ) as source
    from taken, unnest(ranges) r`,
  parameters: { seriesId: int4, within: range },
  row: { startMs: time, endMs: time, answeredAtMs: time, source: nullable(text) },
});
