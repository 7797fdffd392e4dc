/** What a command has opened, closed in the opposite order, whatever else fails. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** A part whose server is away may never end: the process does not wait for it longer than this. */
const patienceMs = 15_000;

export class Closing {
  readonly #steps: Array<() => Promise<void>> = [];

  add(step: () => Promise<void>): void {
    this.#steps.unshift(step);
  }

  /** Never throws: what fails or hangs is logged, and what was opened before it is closed all the same. */
  async run(log: Logger): Promise<void> {
    for (const step of this.#steps.splice(0)) {
      const patience = new AbortController();
      const late = delay(patienceMs, 'late', { signal: patience.signal }).catch(() => 'over');
      try {
        if ((await Promise.race([step(), late])) === 'late') log.warn('a part did not close in time');
      } catch (error) {
        log.warn(
          { cause: error instanceof Error ? error.message : String(error) },
          'a part did not close in order',
        );
      } finally {
        patience.abort();
      }
    }
  }
}
