/** The clock that the service's answers are made and stamped by. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { EpochMs } from '../contract/intervals.ts';
import type { Faults } from './faults.ts';

export class ServiceClock {
  readonly #true: () => EpochMs;
  readonly #faults: () => Faults;
  readonly #behind = new AsyncLocalStorage<number>();

  /** @param trueNow the time as it is; the service's clock may be off by what the faults say at the time. */
  constructor(trueNow: () => EpochMs, faults: () => Faults) {
    this.#true = trueNow;
    this.#faults = faults;
  }

  readonly now = (): EpochMs => this.#true() + this.#faults().clockOffsetMs - (this.#behind.getStore() ?? 0);

  /** Calls `work`; in it, and in what it causes, the clock is this much further behind. */
  runBehind(ms: number, work: () => void): void {
    this.#behind.run(ms, work);
  }
}
