/** What the dashboard is told of the queue, which the service itself does not know: whoever starts it hands this over. */

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

/** @param ask rejects while the queue is away. */
export function servedQueue(ask: () => Promise<LookedQueue>): ServedQueue {
  let seen: LookedQueue | null = null;
  return {
    async look() {
      seen = await ask().catch(() => null);
      return seen;
    },
    seen: () => seen,
  };
}
