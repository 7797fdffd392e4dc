/**
 * Deferred windows: requested without success, or not completely. They stay gaps, are shown with their
 * reason, and are requested again after a pause.
 *
 * A range that the source says it lacks itself is deferred too. Its pause grows with the time it has been missing:
 * nobody knows when the source will have it, and a source that never will must not be asked every few minutes.
 */

import type pg from 'pg';
import { formatDuration } from '../../model/format.ts';
import { dayMs, type EpochMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { normalize, type Range, subtract } from '../../model/ranges.ts';
import type { Reason } from '../../model/reasons.ts';
import { proofOf } from '../../planning/proof.ts';
import { missingPauseMs } from '../../planning/upstream-coverage.ts';
import { bool, float8, int4, listOf, nullable, range, statement, text, time } from '../db/statement.ts';
import { isLacking } from '../series/reason-sets.ts';
import type { EvaluatedWindow } from './evaluate-answers.ts';

interface DeferredWindow {
  readonly seriesId: number;
  readonly window: Range;
  readonly reason: Reason;
  /** Kind of the error of a request that `failed`. */
  readonly errorKind?: string | undefined;
  readonly message: string;
  readonly attempts: number;
  readonly nowMs: EpochMs;
  readonly retryAtMs: EpochMs;
  /** The source that could not give it. */
  readonly source: string;
  /** Whether the window is covered and was to be read again. It is deferred all the same. */
  readonly ofCovered?: boolean;
  /**
   * Upper limit of the pause, which is as long as the window has been failing. Absent: the pause ends at `retryAtMs`.
   */
  readonly maxPauseMs?: number | undefined;
}

/**
 * Inserts or updates a deferred window, unless another worker has covered it meanwhile. The lock on the
 * series keeps a commit from covering it unseen.
 */
export async function deferWindow(client: pg.Pool | pg.PoolClient, deferred: DeferredWindow): Promise<void> {
  await defer.on(client, {
    ...shortened(deferred),
    range: deferred.window,
    errorKind: deferred.errorKind ?? null,
    ofCovered: deferred.ofCovered ?? false,
    maxPauseSeconds: (deferred.maxPauseMs ?? 0) / 1000,
  });
}

const shortened = <Of extends { readonly message: string }>(of: Of) => ({ ...of, message: of.message.slice(0, 1000) });
const deferral = {
  ...{ seriesId: int4, range, reason: text, message: text, attempts: int4 },
  ...{ nowMs: time, retryAtMs: time, source: text },
};

const defer = statement({
  name: 'defer-window',
  text: `
    with open as materialized (
      select s.id from tidemark.series s
      where s.id = $seriesId and ($ofCovered or not $range <@ s.covered) for no key update
    )
    insert into tidemark.pending_windows as p
      (series_id, range, reason, kind, message, attempts, first_at, retry_at, of_covered, source)
    select id, $range, $reason, $errorKind, $message, $attempts, $nowMs, $retryAtMs, $ofCovered, $source from open
    on conflict (series_id, range) do update
      set reason = excluded.reason, kind = excluded.kind, message = excluded.message, source = excluded.source,
          attempts = p.attempts + excluded.attempts,
          retry_at = greatest(excluded.retry_at, excluded.first_at + least(
            make_interval(secs => $maxPauseSeconds), excluded.first_at - p.first_at)),
          of_covered = p.of_covered and excluded.of_covered`,
  parameters: { ...deferral, errorKind: nullable(text), ofCovered: bool, maxPauseSeconds: float8 },
});

/** Backfills the series normally until then: a probe does not help. */
export const postponeProbe = statement({
  name: 'postpone-probe',
  text: 'update tidemark.series set probe_after = $untilMs where id = $seriesId',
  parameters: { seriesId: int4, untilMs: time },
});

/**
 * Deletes deferred windows that are covered by now, whether in one piece or several, and pending probes of a
 * time in which points have come.
 */
export const deleteCoveredWindows = statement({
  name: 'delete-covered',
  text: `delete from tidemark.pending_windows p using tidemark.series s
         where s.id = any ($seriesIds) and p.series_id = s.id
           and (p.range <@ s.covered and not p.of_covered
                or p.reason = 'awaiting_days' and s.earliest < upper(p.range))`,
  parameters: { seriesIds: listOf(int4) },
});

/**
 * Deletes deferred re-reads whose time has come. The next re-read of the trailing range has other bounds and
 * would not replace them.
 */
export const deleteDueRereads = statement({
  name: 'delete-due-rereads',
  text: 'delete from tidemark.pending_windows where of_covered and retry_at <= $nowMs',
  parameters: { nowMs: time },
});

const messages = {
  lacks: 'the source says that this is not complete there',
  absentInFile: 'the file has no row of this time',
  absentBetween: 'the answer has no point of this time, and the series never pauses',
  disputed: 'the answer has rows of this period that differ',
};

/** A gap that was filled at the source is found this much later at most. */
const maxMissingPauseMs = dayMs;

/**
 * Defers the uncovered part of a range. A deferred range within it is replaced: at the newest end each
 * refresh would add another one.
 *
 * @param deferred `retryAtMs` is the earliest time of the next request; `isFirstAtOnce`: except after the first one,
 *   which is repeated at once.
 */
export async function deferUpstreamGaps(
  client: pg.Pool | pg.PoolClient,
  deferred: Omit<DeferredWindow, 'window' | 'errorKind'> & { readonly range: Range; readonly isFirstAtOnce?: boolean },
): Promise<void> {
  const { isFirstAtOnce = false } = deferred;
  await deferMissing.on(client, { ...shortened(deferred), isFirstAtOnce });
}

const deferMissing = statement({
  name: 'defer-missing',
  text: `
    with open as materialized (
      select r as range from tidemark.series s, unnest(tstzmultirange($range) - s.covered) r
      where s.id = $seriesId for no key update of s
    ), known as (
      select o.range, coalesce(sum(p.attempts), 0)::int as attempts,
             least(min(p.first_at) filter (where p.range @> lower(o.range)), $nowMs) as first_at
      from open o left join tidemark.pending_windows p
        on p.series_id = $seriesId and ${isLacking('p.reason')} and not p.of_covered and p.range && o.range
      group by o.range
    ), replaced as (
      delete from tidemark.pending_windows p using open o
      where p.series_id = $seriesId and ${isLacking('p.reason')} and not p.of_covered
        and p.range <@ o.range and p.range <> o.range
    )
    insert into tidemark.pending_windows as p
      (series_id, range, reason, message, attempts, first_at, retry_at, of_covered, source)
    select $seriesId, range, $reason, $message, attempts + $attempts, first_at,
           $nowMs + case when $isFirstAtOnce and attempts = 0 then interval '0' else
             greatest($retryAtMs - $nowMs, least($nowMs - greatest(first_at, lower(range)),
                                             make_interval(secs => ${maxMissingPauseMs / 1000}))) end, false, $source
    from known
    on conflict (series_id, range) do update
      set reason = excluded.reason, kind = null, message = excluded.message, attempts = excluded.attempts,
          first_at = excluded.first_at, retry_at = excluded.retry_at, of_covered = false, source = excluded.source`,
  parameters: { ...deferral, isFirstAtOnce: bool },
});

/** Pause after an answer that was made before its periods had closed. */
const staleRetryMs = 60_000;
/** Pause after an answer with no usable row: something is wrong with the source, or with us. */
const unreadableRetryMs = 600_000;
/** Longest first pause for a range that the source says it lacks. */
const maxFirstMissingPauseMs = 600_000;

/** Defers the ranges of an answer that could not be used. The series is locked already. */
export async function deferUnusableRanges(client: pg.PoolClient, evaluated: EvaluatedWindow): Promise<void> {
  const { evaluation, window, attempt, nowMs, rules, lacking } = evaluated;
  const deferred = { seriesId: window.seriesId, attempts: attempt, nowMs, source: window.source };
  const retryAfter = (ms: number) => nowMs + Math.min(ms, rules.failedRetryMs ?? ms);
  const { stale } = evaluation;
  // The source knows nothing of this range yet: it lags, and the answer is not stale.
  const lags = stale !== null && lacking.knownUntilMs <= stale.startMs;
  for (const range of lags ? normalize([...lacking.missing, stale]) : lacking.missing)
    await deferMissingRange(client, evaluated, range, 'lacks');
  const isDisputed = lacking.disputed.length > 0;
  const isUnreadable = evaluation.verdict === 'unreadable';
  if (!isUnreadable)
    for (const range of lacking.disputed) await deferMissingRange(client, evaluated, range, 'disputed');
  if (stale !== null && !lags) {
    await deferWindow(client, {
      ...deferred,
      window: stale,
      reason: 'stale',
      message: staleMessage(evaluated),
      retryAtMs: retryAfter(staleRetryMs),
    });
  }
  if (isUnreadable) {
    const unreadable = {
      ...deferred,
      message: isDisputed ? messages.disputed : 'no row of the answer was readable, or none belonged to the window',
      retryAtMs: retryAfter(unreadableRetryMs),
    };
    // A file stays as it is: its time is left to the next source, as that of an absent file.
    if (evaluated.answer.isWhole === true || isDisputed)
      await deferUpstreamGaps(client, {
        ...unreadable,
        reason: isDisputed ? 'disputed' : 'unusable_file',
        range: window,
        isFirstAtOnce: evaluated.answer.isWhole !== true,
      });
    else await deferWindow(client, { ...unreadable, window, reason: 'unreadable' });
  }
}

/** A source whose clock or copy is behind stays behind. The difference helps to find the cause. */
function staleMessage({ answer, nowMs }: EvaluatedWindow): string {
  const { sourceTimeMs, durationMs } = answer;
  // A slow answer also has an old timestamp.
  if (sourceTimeMs === null || sourceTimeMs >= nowMs - durationMs - 1000) return 'the answer is older than the window';
  // Rounded, so that a source that stays behind keeps its message.
  const unitMs = nowMs - sourceTimeMs < 2 * hourMs ? minuteMs : hourMs;
  const behindMs = Math.max(1, Math.floor((nowMs - sourceTimeMs) / unitMs)) * unitMs;
  return (
    `the clock or the copy of the source is ${formatDuration(behindMs)} behind: its answer is from ` +
    `${new Date(sourceTimeMs).toISOString()}`
  );
}

function lackText({ answer, stated, window }: EvaluatedWindow, range: Range): string {
  if (answer.isWhole === true) return messages.absentInFile;
  const isStated = proofOf(window.series).mayPause || subtract([range], stated.missing).length === 0;
  return isStated ? messages.lacks : messages.absentBetween;
}

async function deferMissingRange(
  client: pg.PoolClient,
  evaluated: EvaluatedWindow,
  range: Range,
  reason: 'lacks' | 'disputed',
): Promise<void> {
  const { window, attempt, nowMs, rules } = evaluated;
  const { seriesId, series, lane, source } = window;
  const maxMs = Math.min(maxFirstMissingPauseMs, rules.failedRetryMs ?? maxFirstMissingPauseMs);
  const pauseMs = missingPauseMs(range, series.interval, nowMs, maxMs);
  const deferred = {
    seriesId,
    reason,
    message: reason === 'lacks' ? lackText(evaluated, range) : messages.disputed,
    attempts: attempt,
    nowMs,
    retryAtMs: nowMs + pauseMs,
    source,
  };
  await deferUpstreamGaps(client, {
    ...deferred,
    range,
    // The newest point may be late.
    isFirstAtOnce:
      evaluated.answer.isWhole !== true &&
      (reason === 'disputed' || (evaluated.unproved !== undefined && lane !== 'refresh')),
  });
  // The range is covered, and the re-read of it is deferred as well.
  if (lane === 'reread') await deferWindow(client, { ...deferred, window: range, ofCovered: true });
}
