/**
 * One attempt at a job: fetch, then commit.
 *
 *   committed           The job is done, whatever the verdict. The planner finds the gaps that remain.
 *   source refuses      While it refuses all requests, nothing is sent, and after each pause one request
 *                       (source-gate.ts).
 *   source away         While it does not answer, one request goes after each pause (circuit-breaker.ts).
 *   source failed       The ledger gets a row, and source-failure.ts decides.
 *   lock wait           The answer is kept, and committed when the lock is free (store-failure.ts).
 *   commit failed       Nothing of the window is stored. The job is retried: uncounted during an outage of the
 *                       database, counted if the answer itself cannot be stored.
 *   database away       After a failed commit, for as long as its outage lasts, nothing is requested before the
 *                       database answers again. Otherwise each attempt would spend a request on an answer that cannot
 *                       be stored.
 *   worker stops        The job goes back to the queue. An answer under way is lost.
 *
 * After a crash at any instant a window is wholly stored or still a gap, and BullMQ finds the job as stalled.
 */

import type { Logger } from 'pino';
import { unlessStopped } from '../clock.ts';
import { formatTime } from '../model/format.ts';
import { type EpochMs, hourMs } from '../model/intervals.ts';
import type { Window } from '../model/window.ts';
import { done, type Outcome, putBack } from '../queue/jobs.ts';
import { SourceError } from '../sources/source-error.ts';
import { storeLongestRange } from '../store/settings/settings.ts';
import { nameOf, pause } from './deferral.ts';
import { afterAnswer, afterSourceError } from './source-failure.ts';
import { afterStoreTrouble } from './store-failure.ts';
import type { Work } from './work.ts';
import type { AttemptFacts, WorkerContext } from './worker-context.ts';
import type { StoredEvent } from './worker-events.ts';

export async function runAttempt<Answer>(
  work: Work<Answer>,
  attempt: AttemptFacts,
  context: WorkerContext,
): Promise<Outcome> {
  if (attempt.stopping.aborted) return putBack;
  const startedMs = context.clock.now();
  const claimedMs = context.clock.monotonicMs();
  try {
    if (context.storeBreaker.isOpen()) await context.database.pool.query('select');
    const entry = await context.source.gate.enter();
    if (entry.kind === 'wait') return putBack;
    const { breaker } = context.source;
    const mayBegin =
      entry.kind === 'alone' || (await breaker.enter(claimedMs, context.clock, (ms) => pause(ms, context.source)));
    if (!mayBegin) return putBack;
    const fetch = entry.kind === 'alone' ? () => context.source.gate.alone(() => work.fetch()) : () => work.fetch();
    const summary = await fetchAndCommit({ ...work, fetch }, startedMs, attempt, context);
    if (summary === undefined) return putBack;
    context.storeBreaker.succeeded(context.clock.now(), startedMs);
    logRevisions(work, summary, context.log);
    logRejection(work, summary, context);
    context.log.debug({ ...nameOf(work), ...summary }, 'stored');
    return done;
  } catch (error) {
    if (!(error instanceof SourceError)) return afterStoreTrouble(error, startedMs, work, attempt, context);
    try {
      return await afterSourceError(error, startedMs, work, attempt, context);
    } catch (storeError) {
      return afterStoreTrouble(storeError, startedMs, work, attempt, context);
    }
  }
}

/**
 * Undefined: the worker has to stop.
 *
 * Not an async function: it would keep the answer in memory while its prepared window waits for the commit.
 */
function fetchAndCommit<Answer>(
  work: Work<Answer>,
  startedMs: EpochMs,
  attempt: AttemptFacts,
  context: WorkerContext,
): Promise<StoredEvent | undefined> {
  return unlessStopped(work.fetch(), attempt.stopping).then((answer) => {
    if (answer === undefined) return undefined;
    // Closed periods are determined at the time of the answer, however long the commit waits.
    const answeredMs = context.clock.now();
    void afterAnswer(startedMs, context);
    if (work.window !== null) context.source.unknownSeries.delete(work.window.seriesId);
    const begun = context.clock.monotonicMs();
    return work.commit(answer, { number: attempt.number, nowMs: answeredMs }).then(async (summary) => {
      const { dataset, lane } = work;
      context.events?.stored({ dataset, lane, commitMs: context.clock.monotonicMs() - begun, summary });
      if (work.window !== null) await afterAccepted(work.window, context);
      return summary;
    });
  });
}

/** Stores the longest accepted range, for all workers. */
async function afterAccepted(window: Window, context: WorkerContext): Promise<void> {
  const learned = context.source.rangeLimits.accepted(window);
  if (learned === null) return;
  const { key, longestMs } = learned;
  await storeLongestRange(context.database, key, longestMs, context.source.name);
  context.log.warn(
    { ranges: key, hours: longestMs / hourMs },
    'the source refuses longer ranges: requests are shorter from now on',
  );
}

/** Logs changed values: one line a window, with their count and the first few before and after. */
function logRevisions<Answer>(work: Work<Answer>, summary: StoredEvent, log: Logger): void {
  const { revised = 0, revisions = [] } = summary;
  if (revised === 0) return;
  const logged = revisions.map(({ timeMs, before, after }) => ({
    time: new Date(timeMs).toISOString(),
    before,
    after,
  }));
  log.info({ ...nameOf(work), revised, revisions: logged }, 'the source changed stored values');
}

/** More are told of anew. */
const maxToldRejections = 1000;

/**
 * Logs rejected rows, and ranges that no row could be used for: once a window or list, which is asked again and again,
 * with the same rows.
 */
function logRejection<Answer>(work: Work<Answer>, summary: StoredEvent, { log, source }: WorkerContext): void {
  const { rejected = 0, rejectedFor: reason, unusable = [] } = summary;
  if (rejected === 0 && unusable.length === 0) return;
  const { toldRejections: told } = source;
  const name = JSON.stringify(nameOf(work));
  const level = told.has(name) ? 'debug' : 'warn';
  if (told.size >= maxToldRejections) told.clear();
  told.add(name);
  const failed = unusable.map(({ startMs, endMs }) => `${formatTime(startMs)} to ${formatTime(endMs)}`);
  log[level](
    { ...nameOf(work), ...(rejected > 0 && { rejected, reason }), ...(failed.length > 0 && { failed }) },
    rejected > 0 ? 'rows of the source were rejected' : 'no row of the answer belonged to the window',
  );
}
