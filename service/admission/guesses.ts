/** Counts wrong passwords by who gave them, so that none is found by trying. */

import type { EpochMs } from '../../contract/intervals.ts';
import { addressCaller } from './address.ts';

const mostGuesses = 10;
const minuteMs = 60_000;
/** Addresses that have guessed; when there are more, all are forgotten. */
const mostGuessers = 10_000;

/** Of each address ten in a minute. */
export class Guesses {
  readonly #now: () => EpochMs;
  readonly #byCaller = new Map<string, { sinceMs: EpochMs; count: number }>();

  constructor(now: () => EpochMs) {
    this.#now = now;
  }

  /** To be asked before the password is looked at: else guessing would go on, and only not be answered. */
  areSpent(address: string): boolean {
    return (this.#recent(addressCaller(address))?.count ?? 0) >= mostGuesses;
  }

  add(address: string): void {
    const caller = addressCaller(address);
    const recent = this.#recent(caller);
    if (recent !== null) {
      recent.count += 1;
      return;
    }
    if (this.#byCaller.size >= mostGuessers) this.#byCaller.clear();
    this.#byCaller.set(caller, { sinceMs: this.#now(), count: 1 });
  }

  #recent(caller: string): { count: number } | null {
    const guesses = this.#byCaller.get(caller);
    return guesses !== undefined && this.#now() - guesses.sinceMs < minuteMs ? guesses : null;
  }
}
