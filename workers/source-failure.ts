/**
 * What follows from an attempt that failed at the source.
 *
 *   rate_limited             The whole queue pauses until the source accepts requests again, and then one request goes
 *                            alone (source-gate.ts).
 *   notice                   The same: the source answers with a service message, such as its retirement.
 *   unauthorized (401, 402), address_refused (403), country_refused (451)
 *                            The same: no window can succeed until the key, the address or the source has changed.
 *   series_refused (403)     The series is blocked for an hour. A command that asks for it gets the error.
 *   server_error with a time of return
 *                            The queue pauses until then.
 *   outage                   unreachable, timeout, server_error, unexpected, or a 404 with a text body, which sources
 *                            in trouble send on valid paths. Retry with backoff. After the last attempt the window is
 *                            deferred, for a minute first and then for as long as it has failed so far. Of a source
 *                            that has stopped answering, for ten seconds: there may be no other window to try it with.
 *   too_large                Retry; the window is deferred after the last attempt.
 *   404 with a JSON body     Retry once. If that, or another window of the series, gets the same answer, the series is
 *                            blocked for an hour, or, without a point, no longer tracked. A command may ask another
 *                            source than the series' own: it gets the error.
 *   incomplete               The source states that it lacks the window itself. The window is deferred at once, with a
 *                            growing delay (`deferUpstreamGaps`).
 *   400, 413, 414, 416, 422  The range may be too long: request a part of it (range-limit-learner.ts).
 *   other 4xx                The same request would be refused again: the window is deferred at once.
 */

import type { EpochMs } from '../model/intervals.ts';
import { lanes } from '../model/lanes.ts';
import { askedInterval, isCommand } from '../model/window.ts';
import { namesMeant } from '../planning/near-names.ts';
import { longestBackoffMs, longestPauseMs, silentKinds } from '../planning/source-outage.ts';
import { missingPauseMs } from '../planning/upstream-coverage.ts';
import { done, type Outcome, putBack } from '../queue/jobs.ts';
import { concernsRequest, refusesAll, type SourceError } from '../sources/source-error.ts';
import { untrackIfUnknown } from '../store/ledger/backfills.ts';
import { recordChecksum, recordFetch } from '../store/ledger/ledger.ts';
import { readKnownNames } from '../store/series/known-names.ts';
import { assertSeriesOf } from '../store/series/lock.ts';
import { blockSeries } from '../store/series/series.ts';
import { deferWork, nameOf, pause } from './deferral.ts';
import type { Work } from './work.ts';
import type { AttemptFacts, WorkerContext } from './worker-context.ts';

export type Reaction =
  /** Pause the queue and put the job back. */
  | { readonly kind: 'pause' }
  | { readonly kind: 'retry'; readonly inMs: number }
  /** Request a part of the window at once. The attempt does not count. */
  | { readonly kind: 'less' }
  /** Defer the window: it stays a gap, shown with its reason. */
  | { readonly kind: 'defer'; readonly forMs: number }
  /** Request no window of the series. */
  | { readonly kind: 'block'; readonly forMs: number };

const blockedMs = 3_600_000;

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
    /** Whether a command requests the window, which is covered and may be of another source than the series' own. */
    readonly isCommand: boolean;
    /** Whether to request a part of a refused range. */
    readonly asksForLess: boolean;
    /** From 0 to 1: spreads the retries of windows that failed together. */
    readonly random: number;
  },
): Reaction {
  const deferred: Reaction = { kind: 'defer', forMs: context.failedRetryMs };
  const blocked: Reaction = context.isCommand ? deferred : { kind: 'block', forMs: blockedMs };
  if (pausesSource(error)) return { kind: 'pause' };
  switch (error.kind) {
    case 'series_refused':
      return blocked;
    case 'incomplete':
      return { kind: 'defer', forMs: context.missingPauseMs };
    case 'refused':
      return context.asksForLess ? { kind: 'less' } : deferred;
    case 'not_found':
      if (error.unknownId && context.unknownBefore) return blocked;
      break;
    default:
      break;
  }
  if (context.last) return isOutage(error) ? { kind: 'defer', forMs: context.firstRetryMs } : deferred;
  return { kind: 'retry', inMs: backoffMs(context.attempt, context.random) };
}

/** Whether no request is to be sent for a while. */
function pausesSource({ kind, retryAtMs }: Pick<SourceError, 'kind' | 'retryAtMs'>): boolean {
  return refusesAll(kind) || (kind === 'server_error' && retryAtMs !== null);
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

/** Whether no answer came, which says nothing about the request. */
function isSilence({ kind }: Pick<SourceError, 'kind'>): boolean {
  return silentKinds.some((silent) => silent === kind);
}

/** Exponential backoff from one second to one minute, with jitter: between half of it and all of it. */
export function backoffMs(attempt: number, random: number): number {
  const longest = longestBackoffMs(attempt);
  return Math.round(longest / 2 + (longest / 2) * random);
}

/** First delay of a window that ran out of attempts during an outage. */
const firstDeferMs = 60_000;

function fillsGap<Answer>({ window }: Work<Answer>): boolean {
  return window != null && lanes[window.lane].fillsGap;
}

/** After an answer, a source that was away gets requests without pauses. An unreachable queue has none. */
export async function afterAnswer(startedMs: EpochMs, { source, clock }: WorkerContext): Promise<void> {
  if (source.breaker.succeeded(clock.now(), startedMs)) await source.requests.endPause().catch(() => {});
}

/** @throws whatever the store throws. The reaction is then not carried out. */
export async function afterSourceError<Answer>(
  error: SourceError,
  startedMs: EpochMs,
  work: Work<Answer>,
  attempt: AttemptFacts,
  context: WorkerContext,
): Promise<Outcome> {
  const nowMs = context.clock.now();
  const { kind, message } = error;
  const seriesId = work.window?.seriesId ?? null;
  const unknownBefore = seriesId !== null && context.source.unknownSeries.has(seriesId);
  const isAway = fillsGap(work) && isSilence(error) && context.source.breaker.isOpen();
  const longestDeferMs = isAway ? longestPauseMs : context.rules.failedRetryMs;
  const reaction = reactionTo(error, {
    attempt: attempt.number,
    last: attempt.last,
    unknownBefore,
    failedRetryMs: context.rules.failedRetryMs,
    firstRetryMs: fillsGap(work) ? Math.min(firstDeferMs, longestDeferMs) : longestDeferMs,
    isCommand: work.window !== null && isCommand(work.window),
    missingPauseMs:
      work.window === null
        ? context.rules.failedRetryMs
        : missingPauseMs(work.window, askedInterval(work.window), nowMs, context.rules.failedRetryMs),
    asksForLess:
      work.window !== null &&
      mayBeAboutLength(error) &&
      context.source.rangeLimits.refused(work.window, { namesLength: error.namesLength, nowMs }) === 'again',
    random: context.random(),
  });
  // Pause before writing the ledger: other workers go on sending requests until then.
  if (reaction.kind === 'pause') {
    await context.source.gate.refused(error, startedMs);
  } else if (concernsRequest(error)) {
    await afterAnswer(startedMs, context);
  } else if (isOutage(error)) {
    const isAnswered = error.status !== null || kind === 'unexpected';
    await pause(context.source.breaker.failed({ startedMs, nowMs, message, isAnswered }), context.source);
  }
  // What follows is about the series, and not about the source.
  if (work.window !== null) await assertSeriesOf(context.database.pool, work.window);
  if (seriesId !== null && error.unknownId) context.source.unknownSeries.add(seriesId);
  const asked = {
    timeMs: nowMs,
    dataset: work.dataset,
    seriesId,
    range: work.window,
    lane: work.lane,
    attempt: attempt.number,
    source: context.source.name,
  };
  await recordChecksum(context.database.pool, error.checksum, asked);
  await recordFetch(context.database.pool, {
    ...asked,
    verdict: error.unknownId ? 'unknown_id' : kind,
    status: error.status,
    error: message,
    body: error.body === '' ? null : error.body,
    isSent: error.isSent,
    bytes: error.bytes,
    durationMs: error.durationMs,
  });
  const failure = { kind, message, startedMs, nowMs, maxPauseMs: longestDeferMs };
  return carryOut(reaction, failure, work, attempt, context);
}

async function carryOut<Answer>(
  reaction: Reaction,
  failure: { kind: string; message: string; startedMs: EpochMs; nowMs: EpochMs; maxPauseMs: number },
  work: Work<Answer>,
  attempt: AttemptFacts,
  context: WorkerContext,
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
        { ...failure, reason: kind === 'incomplete' ? 'lacks' : 'failed', retryAtMs: nowMs + reaction.forMs },
        work,
        attempt,
        context,
      );
      return done;
    case 'block': {
      context.events?.deferred(work);
      if (work.window === null) {
        await work.giveUp?.({ kind, message, nowMs, retryAtMs: nowMs + reaction.forMs });
        return done;
      }
      const { seriesId, series } = work.window;
      // The list of an exchange's own source has said which symbol was meant.
      const isNamed = kind !== 'not_found' || context.source.client.profile.exchange !== null;
      const cause = isNamed
        ? message
        : message + namesMeant(series, await readKnownNames.one(context.database.pool, {}));
      const untilMs = nowMs + reaction.forMs;
      await blockSeries(context.database, { seriesId, source: context.source.name, kind, message: cause, untilMs });
      // A job that remains in the queue costs one request and does no harm.
      await context.source.requests.dropSeries(seriesId).catch(() => {});
      context.log.warn(
        { ...nameOf(work), cause },
        (await untrackIfUnknown(context.database, { seriesId, nowMs }))
          ? 'the source does not know the series: it is no longer tracked'
          : 'the source does not know the series',
      );
      return done;
    }
  }
}
