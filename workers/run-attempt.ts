/**
 * The way of one attempt: fetch, then commit.
 *
 *   fetched and committed        the job is done, whatever the verdict: what is still missing is planned again.
 *   the source failed            the ledger gets its row, and the reaction of reaction.ts follows.
 *   the commit failed            nothing of the window is stored. The job is tried again, uncounted while the
 *                                database is in trouble; an answer that can never be stored uses up its attempts.
 *   the worker must stop         the job goes back to the queue. An answer that was under way is lost.
 *
 * A crash at any instant leaves the window wholly stored or still a gap, and the job to be found as stalled.
 */

import { type EpochMs, hourMs } from '../contract/intervals.ts';
import type { Window } from '../planning/windows.ts';
import { done, type Outcome, putBack } from '../queue/outcome.ts';
import { SourceError } from '../source/source-error.ts';
import { rememberLongestRange } from '../store/longest-ranges.ts';
import { afterSourceError } from './after-source-error.ts';
import { afterStoreTrouble } from './after-store-trouble.ts';
import { type AttemptFacts, type AttemptParts, nameOf } from './attempt-parts.ts';
import { tellRevisions } from './revisions.ts';
import type { Work } from './work.ts';

export async function runAttempt<Answer>(
  work: Work<Answer>,
  attempt: AttemptFacts,
  parts: AttemptParts,
): Promise<Outcome> {
  if (attempt.stopping.aborted) return putBack;
  const startedMs = parts.now();
  try {
    const summary = await fetchAndCommit(work, startedMs, attempt, parts);
    if (summary === stopped) return putBack;
    parts.storeWatch.succeeded(parts.now(), startedMs);
    tellRevisions(work, summary, parts.log);
    parts.log.debug({ ...nameOf(work), ...summary }, 'stored');
    return done;
  } catch (error) {
    if (!(error instanceof SourceError)) return afterStoreTrouble(error, startedMs, work, attempt, parts);
    try {
      return await afterSourceError(error, startedMs, work, attempt, parts);
    } catch (storeError) {
      return afterStoreTrouble(storeError, startedMs, work, attempt, parts);
    }
  }
}

/** Not an async function: that would hold on to the answer, which while it waits is only what the store made of it. */
function fetchAndCommit<Answer>(
  work: Work<Answer>,
  startedMs: EpochMs,
  attempt: AttemptFacts,
  parts: AttemptParts,
): Promise<object | typeof stopped> {
  return unlessStopped(work.fetch(), attempt.stopping).then<object | typeof stopped>((answer) => {
    if (answer === stopped) return stopped;
    // What has closed is judged by when the answer came, however long it then waits for its commit.
    const answeredMs = parts.now();
    parts.sourceWatch.succeeded(answeredMs, startedMs);
    parts.noticeWatch.succeeded(answeredMs, startedMs);
    if (work.window !== null) parts.unknownSeries.delete(work.window.seriesId);
    const begun = performance.now();
    return work.commit(answer, { number: attempt.number, nowMs: answeredMs }).then(async (summary) => {
      const { dataset, lane } = work;
      parts.told?.stored({ dataset, lane, commitMs: performance.now() - begun, summary });
      if (work.window !== null) await afterAccepted(work.window, parts);
      return summary;
    });
  });
}

/** A range that is accepted where a longer one was refused is remembered for all. */
async function afterAccepted(window: Window, parts: AttemptParts): Promise<void> {
  const lesson = parts.rangeTrials.accepted(window);
  if (lesson === null) return;
  const { key, longestMs } = lesson;
  await rememberLongestRange(parts.database, key, longestMs);
  parts.log.warn(
    { ranges: key, hours: longestMs / hourMs },
    'the source refuses longer ranges: from now on it is asked for shorter ones',
  );
}

const stopped = Symbol('stopped');

/** The promise's value, or `stopped` as soon as the worker must stop. */
async function unlessStopped<Value>(
  promise: Promise<Value>,
  stopping: AbortSignal,
): Promise<Value | typeof stopped> {
  let onAbort = () => {};
  const abort = new Promise<typeof stopped>((resolve) => {
    onAbort = () => resolve(stopped);
    stopping.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, abort]);
  } finally {
    stopping.removeEventListener('abort', onAbort);
  }
}
