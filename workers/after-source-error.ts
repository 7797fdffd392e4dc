/** Carries out the reaction to an attempt that failed at the source. */

import type { EpochMs } from '../contract/intervals.ts';
import { missingPauseMs } from '../planning/known-part.ts';
import { askedInterval } from '../planning/windows.ts';
import { done, type Outcome, putBack } from '../queue/outcome.ts';
import type { SourceError } from '../source/source-error.ts';
import { recordAttemptFailure } from '../store/ledger.ts';
import { blockSeries } from '../store/series.ts';
import { type AttemptFacts, type AttemptParts, nameOf, pause, putAside, tellAsker } from './attempt-parts.ts';
import { isOutage, mayBeAboutLength, type Reaction, reactionTo } from './reaction.ts';
import type { Work } from './work.ts';

/** @throws whatever the store throws: the reaction is then not carried out. */
export async function afterSourceError<Answer>(
  error: SourceError,
  startedMs: EpochMs,
  work: Work<Answer>,
  attempt: AttemptFacts,
  parts: AttemptParts,
): Promise<Outcome> {
  const nowMs = parts.now();
  const { kind, message } = error;
  const seriesId = work.window?.seriesId ?? null;
  const unknownBefore = seriesId !== null && parts.unknownSeries.has(seriesId);
  if (seriesId !== null && error.unknownId) parts.unknownSeries.add(seriesId);
  const noticePauseMs = kind === 'notice' ? parts.noticeWatch.failed({ startedMs, nowMs, message }) : 0;
  const reaction = reactionTo(error, {
    attempt: attempt.number,
    last: attempt.last,
    unknownBefore,
    failedRetryMs: parts.failedRetryMs,
    missingPauseMs:
      work.window === null
        ? parts.failedRetryMs
        : missingPauseMs(work.window, askedInterval(work.window), nowMs, parts.failedRetryMs),
    noticePauseMs,
    asksForLess:
      work.window !== null &&
      mayBeAboutLength(error) &&
      parts.rangeTrials.refused(work.window, { message, nowMs }) === 'again',
    nowMs,
    random: parts.random(),
  });
  // Pausing comes first: every moment counts against a source that refuses, and the ledger can wait.
  if (reaction.kind === 'pause') {
    await pause(reaction.forMs, parts);
    // What a notice says is in the log already.
    if (nowMs >= parts.heldOff.untilMs && kind !== 'notice') {
      const line = { cause: message, pauseSeconds: Math.ceil(reaction.forMs / 1000) };
      parts.log[kind === 'unauthorized' ? 'error' : 'warn'](line, 'the source holds us off');
    }
    parts.heldOff.untilMs = Math.max(parts.heldOff.untilMs, nowMs + reaction.forMs);
  } else if (isOutage(error)) {
    await pause(parts.sourceWatch.failed({ startedMs, nowMs, message }), parts);
  }
  await recordAttemptFailure(parts.database, {
    timeMs: nowMs,
    dataset: work.dataset,
    seriesId,
    range: work.window,
    lane: work.lane,
    attempt: attempt.number,
    kind: error.unknownId ? 'unknown_id' : kind,
    status: error.status,
    message,
    bytes: error.bytes,
    durationMs: error.durationMs,
  });
  return carryOut(reaction, { kind, message, nowMs }, work, attempt, parts);
}

async function carryOut<Answer>(
  reaction: Reaction,
  failure: { kind: string; message: string; nowMs: EpochMs },
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
      await putAside({ ...failure, retryAtMs: nowMs + reaction.forMs }, work, attempt, parts);
      return done;
    case 'block':
      parts.told?.putAside(work);
      if (work.window === null) {
        await work.giveUp?.({ kind, message, nowMs, retryAtMs: nowMs + reaction.forMs });
        return done;
      }
      await tellAsker(failure, work, parts);
      await blockSeries(parts.database, {
        seriesId: work.window.seriesId,
        kind,
        message,
        untilMs: nowMs + reaction.forMs,
      });
      // What stays in the queue costs a request each, and nothing else.
      await parts.requests.dropSeries(work.window.seriesId).catch(() => {});
      parts.log.warn({ ...nameOf(work), cause: message }, 'the source does not know the series');
      return done;
  }
}
