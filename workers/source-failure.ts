/**
 * What follows from an attempt that failed at the source.
 *
 *   rate_limited             The whole queue pauses until the source accepts requests again.
 *   notice                   The source answers with a service message, such as its retirement. The whole queue
 *                            pauses, for a minute first and up to an hour.
 *   unauthorized (401)       The whole queue pauses for a minute: no window can succeed until the key is fixed.
 *   outage                   unreachable, timeout, server_error, unexpected, or a 404 with a text body, which sources in
 *                            trouble send on valid paths. Retry with backoff. After the last attempt the window is
 *                            deferred, for a minute first and then for as long as it has failed so far.
 *   too_large                Retry; the window is deferred after the last attempt.
 *   404 with a JSON body     Retry once. If that, or another window of the series, gets the same answer, the series is
 *                            blocked for an hour.
 *   incomplete               The source states that it lacks the window itself. The window is deferred at once, with a
 *                            growing delay (`deferUpstreamGaps`).
 *   400, 413, 414, 416, 422  The range may be too long: request a part of it (range-limit-learner.ts).
 *   other 4xx, 403           The same request would be refused again: the window is deferred at once.
 */

import type { EpochMs } from '../contract/intervals.ts';
import { missingPauseMs } from '../planning/upstream-coverage.ts';
import { askedInterval } from '../planning/windows.ts';
import { done, type Outcome, putBack } from '../queue/jobs.ts';
import type { SourceError } from '../source/source-error.ts';
import { recordFetch } from '../store/ledger/ledger.ts';
import { blockSeries } from '../store/series/series.ts';
import {
  type AttemptFacts,
  type AttemptParts,
  deferWork,
  nameOf,
  pause,
  publishCommandResult,
} from './attempt-parts.ts';
import type { Work } from './work.ts';

export type Reaction =
  /** Pause the queue and put the job back. */
  | { readonly kind: 'pause'; readonly forMs: number }
  | { readonly kind: 'retry'; readonly inMs: number }
  /** Request a part of the window at once. The attempt does not count. */
  | { readonly kind: 'less' }
  /** Defer the window: it stays a gap, shown with its reason. */
  | { readonly kind: 'defer'; readonly forMs: number }
  /** Request no window of the series. */
  | { readonly kind: 'block'; readonly forMs: number };

const unauthorizedPauseMs = 60_000;
const unknownIdMs = 3_600_000;
const backoffBaseMs = 1000;
const longestRetryMs = 60_000;
/** Shortest pause after a 429, even if the source states that it accepts requests now. */
const shortestPauseMs = 1000;

export function reactionTo(
  error: Pick<SourceError, 'kind' | 'status' | 'unknownId' | 'retryAtMs'>,
  context: {
    readonly attempt: number;
    readonly last: boolean;
    /** Whether an earlier answer, to any window, stated that the series is unknown. */
    readonly unknownBefore: boolean;
    readonly failedRetryMs: number;
    /** First delay of a window that an outage deferred. */
    readonly firstRetryMs: number;
    /** Delay of a window that the source lacks. */
    readonly missingPauseMs: number;
    /** Pause after a service message. */
    readonly serviceMessagePauseMs: number;
    /** Whether to request a part of a refused range. */
    readonly asksForLess: boolean;
    readonly nowMs: EpochMs;
    /** From 0 to 1: spreads the retries of windows that failed together. */
    readonly random: number;
  },
): Reaction {
  const deferred: Reaction = { kind: 'defer', forMs: context.failedRetryMs };
  switch (error.kind) {
    case 'rate_limited': {
      const untilMs = error.retryAtMs ?? context.nowMs + 60_000;
      return { kind: 'pause', forMs: Math.max(shortestPauseMs, untilMs - context.nowMs) };
    }
    case 'notice':
      return { kind: 'pause', forMs: Math.max(shortestPauseMs, context.serviceMessagePauseMs) };
    case 'unauthorized':
      // 401 concerns the key, 403 the requested series: others may be allowed.
      if (error.status === 403) return deferred;
      return { kind: 'pause', forMs: unauthorizedPauseMs };
    case 'incomplete':
      return { kind: 'defer', forMs: context.missingPauseMs };
    case 'refused':
      return context.asksForLess ? { kind: 'less' } : deferred;
    case 'not_found':
      if (error.unknownId && context.unknownBefore) return { kind: 'block', forMs: unknownIdMs };
      break;
    default:
      break;
  }
  if (context.last) return isOutage(error) ? { kind: 'defer', forMs: context.firstRetryMs } : deferred;
  return { kind: 'retry', inMs: backoffMs(context.attempt, context.random) };
}

/** Statuses of a malformed request, which a range that is too long may be. */
const malformed: readonly (number | null)[] = [400, 413, 414, 416, 422];

export function mayBeAboutLength(error: Pick<SourceError, 'kind' | 'status'>): boolean {
  return error.kind === 'refused' && malformed.includes(error.status);
}

/** Whether the error concerns the source and not the request. A maintenance page may have any status, even 200. */
export function isOutage(error: Pick<SourceError, 'kind' | 'unknownId'>): boolean {
  if (error.kind === 'not_found') return !error.unknownId;
  return ['unreachable', 'timeout', 'server_error', 'unexpected'].includes(error.kind);
}

/** Exponential backoff from one second to one minute, with jitter: between half of it and all of it. */
export function backoffMs(attempt: number, random: number): number {
  const longest = Math.min(longestRetryMs, backoffBaseMs * 2 ** (attempt - 1));
  return Math.round(longest / 2 + (longest / 2) * random);
}

/** First delay of a window that ran out of attempts during an outage. */
const firstDeferMs = 60_000;

function fillsGap<Answer>({ window }: Work<Answer>): boolean {
  return window?.lane === 'refresh' || window?.lane === 'backfill';
}

/** @throws whatever the store throws. The reaction is then not carried out. */
export async function afterSourceError<Answer>(
  error: SourceError,
  startedMs: EpochMs,
  work: Work<Answer>,
  attempt: AttemptFacts,
  parts: AttemptParts,
): Promise<Outcome> {
  const nowMs = parts.clock.now();
  const { kind, message } = error;
  const seriesId = work.window?.seriesId ?? null;
  const unknownBefore = seriesId !== null && parts.unknownSeries.has(seriesId);
  if (seriesId !== null && error.unknownId) parts.unknownSeries.add(seriesId);
  const serviceMessagePauseMs =
    kind === 'notice' ? parts.serviceMessageBreaker.failed({ startedMs, nowMs, message }) : 0;
  const reaction = reactionTo(error, {
    attempt: attempt.number,
    last: attempt.last,
    unknownBefore,
    failedRetryMs: parts.failedRetryMs,
    firstRetryMs: fillsGap(work) ? Math.min(firstDeferMs, parts.failedRetryMs) : parts.failedRetryMs,
    missingPauseMs:
      work.window === null
        ? parts.failedRetryMs
        : missingPauseMs(work.window, askedInterval(work.window), nowMs, parts.failedRetryMs),
    serviceMessagePauseMs,
    asksForLess:
      work.window !== null &&
      mayBeAboutLength(error) &&
      parts.rangeLimits.refused(work.window, { message, nowMs }) === 'again',
    nowMs,
    random: parts.random(),
  });
  // Pause before writing the ledger: other workers go on sending requests until then.
  if (reaction.kind === 'pause') {
    await pause(reaction.forMs, parts);
    // The circuit breaker has logged a service message.
    if (nowMs >= parts.sourcePause.untilMs && kind !== 'notice') {
      const line = { cause: message, pauseSeconds: Math.ceil(reaction.forMs / 1000) };
      parts.log[kind === 'unauthorized' ? 'error' : 'warn'](
        line,
        'the source refuses requests; the queue pauses',
      );
    }
    parts.sourcePause.untilMs = Math.max(parts.sourcePause.untilMs, nowMs + reaction.forMs);
  } else if (isOutage(error)) {
    await pause(parts.sourceBreaker.failed({ startedMs, nowMs, message }), parts);
  }
  await recordFetch(parts.database.pool, {
    timeMs: nowMs,
    dataset: work.dataset,
    seriesId,
    range: work.window,
    lane: work.lane,
    attempt: attempt.number,
    verdict: error.unknownId ? 'unknown_id' : kind,
    status: error.status,
    error: message,
    bytes: error.bytes,
    durationMs: error.durationMs,
    source: work.window?.source ?? null,
  });
  return carryOut(reaction, { kind, message, startedMs, nowMs }, work, attempt, parts);
}

async function carryOut<Answer>(
  reaction: Reaction,
  failure: { kind: string; message: string; startedMs: EpochMs; nowMs: EpochMs },
  work: Work<Answer>,
  attempt: AttemptFacts,
  parts: AttemptParts,
): Promise<Outcome> {
  const { kind, message, nowMs } = failure;
  switch (reaction.kind) {
    case 'pause':
      return putBack;
    case 'retry':
      return { kind: 'retry', inMs: reaction.inMs, counted: true };
    case 'less':
      return { kind: 'retry', inMs: 1, counted: false };
    case 'defer':
      await deferWork(
        { ...failure, retryAtMs: nowMs + reaction.forMs, maxPauseMs: parts.failedRetryMs },
        work,
        attempt,
        parts,
      );
      return done;
    case 'block':
      parts.events?.deferred(work);
      if (work.window === null) {
        await work.giveUp?.({ kind, message, nowMs, retryAtMs: nowMs + reaction.forMs });
        return done;
      }
      await publishCommandResult(failure, work, parts);
      await blockSeries(parts.database, {
        seriesId: work.window.seriesId,
        source: work.window.source ?? null,
        kind,
        message,
        untilMs: nowMs + reaction.forMs,
      });
      // A job that remains in the queue costs one request and does no harm.
      await parts.requests.dropSeries(work.window.seriesId).catch(() => {});
      parts.log.warn({ ...nameOf(work), cause: message }, 'the source does not know the series');
      return done;
  }
}
