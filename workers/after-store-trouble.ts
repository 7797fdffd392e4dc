/** Decides what becomes of a job whose answer, or whose failure, could not be stored. */

import type { EpochMs } from '../contract/intervals.ts';
import { done, type Outcome } from '../queue/outcome.ts';
import { type AttemptFacts, type AttemptParts, nameOf, pause, putAside } from './attempt-parts.ts';
import { backoffMs } from './reaction.ts';
import { storeTroubleOf } from './store-trouble.ts';
import type { Work } from './work.ts';

export async function afterStoreTrouble<Answer>(
  error: unknown,
  startedMs: EpochMs,
  work: Work<Answer>,
  attempt: AttemptFacts,
  parts: AttemptParts,
): Promise<Outcome> {
  const nowMs = parts.now();
  const { passes, message } = storeTroubleOf(error);
  parts.told?.notStored({ passes });
  if (passes) {
    // Fetching what cannot be stored would waste the budget.
    const pauseMs = parts.storeWatch.failed({ startedMs, nowMs, message });
    await pause(pauseMs, parts);
    return { kind: 'retry', inMs: Math.max(pauseMs, 1000), counted: false };
  }
  parts.log.error(
    { ...nameOf(work), cause: message, attempt: attempt.number },
    'an answer could not be read or stored',
  );
  if (!attempt.last) return { kind: 'retry', inMs: backoffMs(attempt.number, parts.random()), counted: true };
  const retryAtMs = nowMs + parts.failedRetryMs;
  await putAside({ kind: 'store', message, nowMs, retryAtMs }, work, attempt, parts);
  return done;
}
