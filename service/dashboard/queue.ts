/** What the dashboard is told of the queue, which the service itself does not know: whoever starts it hands this over. */

import { setTimeout as delay } from 'node:timers/promises';
import type { EpochMs } from '../../contract/intervals.ts';
import type { QueueLook } from './shapes.ts';

export interface LookedQueue {
  readonly depth: QueueLook;
  /** Windows in the queue or under way, by series. */
  readonly windows: ReadonlyMap<number, readonly { readonly startMs: EpochMs; readonly endMs: EpochMs }[]>;
}

export interface ServedQueue {
  /** Never rejects; null: it cannot be asked. */
  look(): Promise<LookedQueue | null>;
  /** What the last look saw. */
  seen(): LookedQueue | null;
}

/** A queue that takes longer is away for now: the rest of what pages show does not wait for it. */
const patienceMs = 3000;

/** @param ask rejects while the queue is away; one that never answers is not asked a second time meanwhile. */
export function servedQueue(ask: () => Promise<LookedQueue>): ServedQueue {
  let seen: LookedQueue | null = null;
  let asking: Promise<LookedQueue | null> | null = null;
  return {
    async look() {
      asking ??= ask()
        .catch(() => null)
        .finally(() => {
          asking = null;
        });
      const patience = new AbortController();
      const tooLong = delay(patienceMs, null, patience).catch(() => null);
      seen = await Promise.race([asking, tooLong]);
      patience.abort();
      return seen;
    },
    seen: () => seen,
  };
}
