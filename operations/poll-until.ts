/** Polls until a result is there, across short outages of the database and the queue. */

import { type Clock, stopped } from '../clock.ts';
import { TidemarkError } from '../errors.ts';
import { formatTime } from '../model/format.ts';
import { printable } from '../model/names.ts';
import { explainDatabaseError } from '../store/db/failure.ts';
import type { OperationContext } from './context.ts';

const pollEveryMs = 250;
/** Longest outage that a command waits for. A restart takes seconds. */
const longestOutageMs = 60_000;
/** Longest wait for a poll after Ctrl-C, unless it ends by itself. */
const stopAfterMs = 3000;
const unreachableCodes = new Set(['DATABASE_UNREACHABLE', 'DATABASE_LOCKED', 'QUEUE_UNREACHABLE']);

/**
 * Calls `poll` until it returns a result. Reach the database and the queue once before: an address that was never
 * reachable may be wrong, and should fail at once.
 *
 * @param what the phase; that of an outage states its reason and its limit.
 * @throws errors of `poll`, explained. A database or queue may be unreachable for a minute.
 */
export async function pollUntil<Outcome extends object>(
  { clock, phase }: Pick<OperationContext, 'clock' | 'phase'>,
  what: string,
  poll: () => Promise<Outcome | null>,
  signal: AbortSignal,
): Promise<Outcome> {
  phase(what);
  let unreachableSinceMs: number | null = null;
  let reported = '';
  for (;;) {
    try {
      const outcome = await answered(clock, poll(), signal);
      if (outcome !== null) return outcome;
      if (unreachableSinceMs !== null) phase(what);
      unreachableSinceMs = null;
      reported = '';
    } catch (error) {
      const explained = explainDatabaseError(error);
      if (signal.aborted && isUnreachable(explained)) throw interrupted(unreachableText(explained));
      unreachableSinceMs ??= clock.now();
      const isWithinLimit = clock.now() - unreachableSinceMs < longestOutageMs && !signal.aborted;
      if (!isUnreachable(explained) || !isWithinLimit) throw explained;
      // The first error may be "does not answer", and the next one the cause.
      const text = unreachableText(explained);
      if (text !== reported) phase(`${text}; retrying until ${formatTime(unreachableSinceMs + longestOutageMs)}`);
      reported = text;
    }
    await clock.sleep(pollEveryMs, signal);
  }
}

/** A command that is stopped does not wait for an unreachable server. */
async function answered<Outcome>(clock: Clock, polled: Promise<Outcome>, signal: AbortSignal): Promise<Outcome> {
  const over = new AbortController();
  const late = async (): Promise<never> => {
    await stopped(AbortSignal.any([signal, over.signal]));
    await clock.sleep(stopAfterMs, over.signal);
    throw interrupted('the database or the queue does not answer');
  };
  const waiting = late();
  waiting.catch(() => {});
  try {
    return await Promise.race([polled, waiting]);
  } finally {
    over.abort();
    polled.catch(() => {});
  }
}

const interrupted = (why: string) => new TidemarkError('INTERRUPTED', `stopped; fetched windows are stored (${why})`);

export function isUnreachable(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError && unreachableCodes.has(error.code);
}

export function unreachableText(error: TidemarkError): string {
  return printable(`${error.code}: ${error.message}`);
}
