/** What follows from an answer that could not be stored: a database in trouble, a lock, or the answer's own content. */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { codeOf, messageOf } from '../errors.ts';
import type { EpochMs } from '../model/intervals.ts';
import { done, type Outcome } from '../queue/jobs.ts';
import { isLockWait } from '../store/db/database.ts';
import { isUnavailable } from '../store/db/failure.ts';
import { isSeriesGone } from '../store/series/lock.ts';
import { deferWork, nameOf, pause } from './deferral.ts';
import { backoffMs } from './source-failure.ts';
import type { Work } from './work.ts';
import type { AttemptFacts, CommitSlot, WorkerContext } from './worker-context.ts';

/** TimescaleDB's limit on tuples decompressed in one transaction: a setting, so the same answer fails again. */
const settingsLimit = '53400';

/** Statement timeout or cancel. A window that never commits in time must not be fetched again forever. */
const cancelled = '57014';

/** Whether the same answer may be stored later (`isTransient`), and the message. */
export function storeTroubleOf(error: unknown): { readonly isTransient: boolean; readonly message: string } {
  const isPermanent = [settingsLimit, cancelled].includes(String(codeOf(error)));
  return { isTransient: isUnavailable(error) && !isPermanent, message: messageOf(error) };
}

export async function afterStoreTrouble<Answer>(
  error: unknown,
  startedMs: EpochMs,
  work: Work<Answer>,
  attempt: AttemptFacts,
  context: WorkerContext,
): Promise<Outcome> {
  if (work.window !== null && isSeriesGone(error)) {
    context.log.info({ ...nameOf(work), cause: messageOf(error) }, 'the series of an answer is gone');
    return done;
  }
  const nowMs = context.clock.now();
  const { isTransient, message } = storeTroubleOf(error);
  context.events?.notStored({ isTransient });
  if (isTransient) {
    // Requests whose answers cannot be stored would waste the budget.
    const pauseMs = context.storeBreaker.failed({ startedMs, nowMs, message });
    await pause(pauseMs, context.source);
    return { kind: 'retry', inMs: Math.max(pauseMs, 1000), counted: false };
  }
  context.log.error(
    { ...nameOf(work), cause: message, attempt: attempt.number },
    'an answer could not be read or stored',
  );
  if (!attempt.last) return { kind: 'retry', inMs: backoffMs(attempt.number, context.random()), counted: true };
  const retryAtMs = nowMs + context.rules.failedRetryMs;
  await deferWork(
    { reason: 'not_stored', kind: 'store', message, startedMs, nowMs, retryAtMs },
    work,
    attempt,
    context,
  );
  return done;
}

const restMs = 100;

/**
 * Retries a commit that could not get a lock. Its answer stays in memory, so no request is repeated and no attempt is
 * lost. At most as many answers wait as the worker has active jobs. The first wait and its end are logged. When the
 * worker stops, waiting jobs go back to the queue.
 */
export function retryWhileLocked(options: {
  readonly log: Logger;
  readonly clock: Clock;
  /** Aborts when the worker stops. */
  readonly closing: AbortSignal;
  /** Called after each try that could not get a lock. */
  readonly onWait: () => void;
}): CommitSlot {
  const { log, clock, closing } = options;
  let waitingSinceMs: EpochMs | null = null;

  return async (commit) => {
    for (;;) {
      try {
        const result = await commit();
        if (waitingSinceMs !== null) {
          const seconds = Math.round((clock.now() - waitingSinceMs) / 1000);
          log.info({ seconds }, 'commits no longer wait for a lock');
          waitingSinceMs = null;
        }
        return result;
      } catch (error) {
        if (!isLockWait(error) || closing.aborted) throw error;
        options.onWait();
        if (waitingSinceMs === null) {
          waitingSinceMs = clock.now();
          log.warn(
            { cause: messageOf(error) },
            'commits wait for a lock that somebody else holds; their answers are kept',
          );
        }
        await clock.sleep(restMs, closing);
      }
    }
  };
}
