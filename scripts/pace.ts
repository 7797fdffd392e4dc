/** The pace of something that is looked at again and again. */

import { perMs, type Seen, seenAlso, timeLeftMs } from '../planning/rate.ts';

export class Pace {
  #seen: readonly Seen[] = [];
  #left: number | null = null;
  #done = 0;

  /** How much is done by now. */
  sawDone(done: number, atMs = performance.now()): void {
    this.#seen = seenAlso(this.#seen, { atMs, done });
  }

  /** How much is left by now: what comes on top has undone nothing. */
  sawLeft(left: number, atMs = performance.now()): void {
    this.#done += Math.max(0, (this.#left ?? left) - left);
    this.#left = left;
    this.sawDone(this.#done, atMs);
  }

  /** Null until it is known. */
  perSecond(): number | null {
    const rate = perMs(this.#seen);
    return rate === null ? null : rate * 1000;
  }

  /** Milliseconds until the rest is done; see {@link timeLeftMs}. */
  timeLeftMs(
    left: number,
    limits: { readonly perMinute: number; readonly arriving?: number },
  ): number | null {
    return timeLeftMs(left, perMs(this.#seen), limits);
  }
}
