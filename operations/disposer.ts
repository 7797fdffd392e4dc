/** Closes the resources of a command in reverse order. */

import type { Logger } from 'pino';
import { type Clock, settledWithin } from '../clock.ts';
import { messageOf } from '../errors.ts';

/** A resource whose server is unreachable may never close. */
const closeTimeoutMs = 15_000;

export class Disposer {
  readonly #clock: Clock;
  readonly #steps: Array<() => Promise<void>> = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(step: () => Promise<void>): void {
    this.#steps.unshift(step);
  }

  /** Never throws: a step that fails or hangs is logged, and the next ones run. */
  async run(log: Logger): Promise<void> {
    for (const step of this.#steps.splice(0)) {
      try {
        const closed = await settledWithin(this.#clock, closeTimeoutMs, step());
        if (closed === 'late') log.warn('a resource did not close in time');
      } catch (error) {
        log.warn({ cause: messageOf(error) }, 'a resource failed to close');
      }
    }
  }
}
