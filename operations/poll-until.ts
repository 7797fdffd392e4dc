/** Polls until a result is there, across short outages of the database and the queue. */

import { setTimeout as delay } from 'node:timers/promises';
import { printable } from '../contract/names.ts';
import { messageOf, TidemarkError } from '../errors.ts';
import { formatTime } from '../format.ts';
import { explainDatabaseError } from '../store/db/failure.ts';
import type { OperationContext } from './context.ts';

const pollEveryMs = 250;
/** Longest outage that a command waits for. A restart takes seconds. */
const longestOutageMs = 60_000;
const unreachableCodes = new Set(['DATABASE_UNREACHABLE', 'DATABASE_LOCKED', 'QUEUE_UNREACHABLE']);

/**
 * Calls `poll` until it returns a result.
 *
 * @param what the phase; that of an outage states its reason and its limit.
 * @throws errors of `poll`, explained. A database or queue that was reachable before may be unreachable for a minute.
 */
export async function pollUntil<Outcome extends object>(
  { phase }: Pick<OperationContext, 'phase'>,
  what: string,
  poll: () => Promise<Outcome | null>,
  signal: AbortSignal,
): Promise<Outcome> {
  phase(what);
  let unreachableSinceMs: number | null = null;
  // A server that was never reachable may be a wrong address: fail at once.
  let wasReachable = false;
  for (;;) {
    try {
      const outcome = await poll();
      if (outcome !== null) return outcome;
      wasReachable = true;
      if (unreachableSinceMs !== null) phase(what);
      unreachableSinceMs = null;
    } catch (error) {
      const explained = explainDatabaseError(error);
      const isNew = unreachableSinceMs === null;
      unreachableSinceMs ??= Date.now();
      const isWithinLimit = Date.now() - unreachableSinceMs < longestOutageMs && !signal.aborted;
      if (!isUnreachable(explained) || !isWithinLimit || !wasReachable) throw explained;
      if (isNew)
        phase(`${unreachableText(explained)}; retrying until ${formatTime(Date.now() + longestOutageMs)}`);
    }
    await delay(pollEveryMs, undefined, { signal }).catch(() => {});
  }
}

export function isUnreachable(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError && unreachableCodes.has(error.code);
}

export function unreachableText(error: TidemarkError): string {
  return printable(`${error.code}: ${error.message}`);
}

/** @throws TidemarkError QUEUE_UNREACHABLE for an error of Redis; any other error unchanged. */
export function explainQueueError(error: unknown, kind: 'redis' | 'postgres'): never {
  if (kind !== 'redis') throw error;
  throw new TidemarkError('QUEUE_UNREACHABLE', `Redis: ${messageOf(error)}`, { cause: error });
}
