/** Times of requests within a rolling minute. */

import type { EpochMs } from '../contract/intervals.ts';

const minuteMs = 60_000;

export class RollingMinute {
  // The times before `#first` have left the minute; they are dropped now and then rather than one by one.
  #times: EpochMs[] = [];
  #first = 0;

  /** How many lie in the 60 s up to `nowMs`. One exactly 60 s old has left. */
  count(nowMs: EpochMs): number {
    while (this.#first < this.#times.length && (this.#times[this.#first] ?? 0) <= nowMs - minuteMs)
      this.#first++;
    if (this.#first > 10_000) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    return this.#times.length - this.#first;
  }

  add(nowMs: EpochMs): void {
    this.#times.push(nowMs);
  }

  /** When the oldest leaves; `nowMs` when there is none. */
  freeAt(nowMs: EpochMs): EpochMs {
    return this.count(nowMs) === 0 ? nowMs : (this.#times[this.#first] ?? nowMs) + minuteMs;
  }
}
