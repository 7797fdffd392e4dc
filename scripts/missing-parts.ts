/** The scheduler and the worker of this process, run only while there is no other: a backfill joins what runs. */

import type { QueueBackend } from '../queue/backend.ts';
import { runScheduler, runWorker } from './pipeline.ts';
import type { Session } from './session.ts';

export class MissingParts {
  readonly #session: Session;
  readonly #seriesIds: readonly number[];
  #queues: QueueBackend | undefined;
  #closing: Array<() => Promise<void>> = [];
  #scheduling = false;
  #working = false;

  constructor(session: Session, seriesIds: readonly number[]) {
    this.#session = session;
    this.#seriesIds = seriesIds;
  }

  /** @param needed whether there is work, as far as is known. */
  async ensure(needed: boolean): Promise<QueueBackend> {
    if (this.#queues === undefined) {
      const opened = await this.#session.openQueues();
      this.#queues = opened;
      this.#closing.unshift(() => opened.close());
    }
    const queues = this.#queues;
    if (!needed) return queues;
    if (!this.#working && (await queues.requests.workersPresent()) === 0) {
      const worker = await runWorker(this.#session, queues);
      this.#closing.unshift(() => worker.close());
      this.#working = true;
    }
    if (!this.#scheduling && (await queues.planning.workersPresent()) === 0) {
      const scheduler = await runScheduler(this.#session, queues, this.#seriesIds);
      this.#closing.unshift(() => scheduler.close());
      this.#scheduling = true;
    }
    return queues;
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
  }
}
