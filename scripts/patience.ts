/** Looking again and again until something is done, through the absence of database and queue. */

import { setTimeout as delay } from 'node:timers/promises';
import { TidemarkError } from '../errors.ts';
import { explainDatabaseError } from '../store/failure.ts';
import { lostText } from './watch-view.ts';
import { duration } from './wording.ts';

const lookEveryMs = 250;
/** How long a database may be away before a command gives up: a restart takes seconds. */
const databasePatienceMs = 60_000;
const awayCodes = new Set(['DATABASE_UNREACHABLE', 'QUEUE_UNREACHABLE']);

/**
 * Calls `look` until it gives something else than null.
 *
 * @throws whatever it throws, explained; but a database or queue that was there and is away is waited for, a minute
 * long. `onAway` is called once as each absence begins.
 */
export async function lookUntilDone<Outcome extends object>(
  look: () => Promise<Outcome | null>,
  signal: AbortSignal,
  onAway: (error: TidemarkError) => void = () => {},
): Promise<Outcome> {
  let unreachableSinceMs: number | null = null;
  // What was never there may be a wrong address, which is to be said at once.
  let wasThere = false;
  for (;;) {
    try {
      const outcome = await look();
      if (outcome !== null) return outcome;
      wasThere = true;
      unreachableSinceMs = null;
    } catch (error) {
      const explained = explainDatabaseError(error);
      const isAway = explained instanceof TidemarkError && awayCodes.has(explained.code);
      const isNew = unreachableSinceMs === null;
      unreachableSinceMs ??= Date.now();
      const isPatient = Date.now() - unreachableSinceMs < databasePatienceMs && !signal.aborted;
      if (!isAway || !isPatient || !wasThere) throw explained;
      if (isNew) onAway(explained);
    }
    await delay(lookEveryMs, undefined, { signal }).catch(() => {});
  }
}

/** Said when an absence begins: a minute without a word looks as if it hung. */
export function awayText(error: TidemarkError): string {
  return `${lostText(error)}; waiting up to ${duration(databasePatienceMs)} for it`;
}

/** @throws TidemarkError QUEUE_UNREACHABLE where `error` comes from Redis; what it was otherwise. */
export function explainQueueError(error: unknown, kind: 'redis' | 'postgres'): never {
  if (kind !== 'redis') throw error;
  const cause = error instanceof Error ? error.message : String(error);
  throw new TidemarkError('QUEUE_UNREACHABLE', `Redis: ${cause}`, { cause: error });
}
