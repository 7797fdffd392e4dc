/** The scheduler and the worker of this process, run only while there is no other: a command joins what runs. */

import type { Range } from '../planning/ranges.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { endsInNotice } from '../store/ledger.ts';
import { Closing } from './closing.ts';
import { runScheduler, runWorker } from './pipeline.ts';
import type { Session } from './session.ts';

export class MissingParts {
  readonly #session: Session;
  readonly #ranges: ReadonlyMap<number, Range> | null;
  readonly #run: string | undefined;
  #queues: QueueBackend | undefined;
  readonly #closing = new Closing();
  #scheduling = false;
  #working = false;

  /**
   * @param ranges what is to be filled, by series; null: nothing is, and no scheduler is needed.
   * @param run whose windows, if any, are taken out of the queue at the end.
   */
  constructor(session: Session, ranges: ReadonlyMap<number, Range> | null, run?: string) {
    this.#session = session;
    this.#ranges = ranges;
    this.#run = run;
  }

  /** @param needed whether there is work, as far as is known. */
  async ensure(needed: boolean): Promise<QueueBackend> {
    if (this.#queues === undefined) {
      const opened = await this.#session.openQueues();
      this.#queues = opened;
      this.#closing.add(() => opened.close());
      // Once worker and scheduler have ended: what they hand back is dropped too.
      this.#closing.add(() => this.#dropOwn(opened));
      // Who gives the command again wants to know whether the source still says so: it may be another source by now.
      if ((await endsInNotice(this.#session.database)) && (await opened.requests.workersPresent()) === 0)
        await opened.requests.endPause();
    }
    const queues = this.#queues;
    if (!needed) return queues;
    if (!this.#working && (await queues.requests.workersPresent()) === 0) {
      const worker = await runWorker(this.#session, queues);
      this.#closing.add(() => worker.close());
      this.#working = true;
    }
    if (this.#ranges === null) return queues;
    if (!this.#scheduling && (await queues.planning.workersPresent()) === 0) {
      const scheduler = await runScheduler(this.#session, queues, this.#ranges);
      this.#closing.add(() => scheduler.close());
      this.#scheduling = true;
    }
    return queues;
  }

  /** What waits would run in the next backfill or service, wanted or not. Where one runs already, it plans anew. */
  async #dropOwn(queues: QueueBackend): Promise<void> {
    if (this.#run !== undefined) await queues.requests.dropRun(this.#run);
    if (!this.#scheduling || this.#ranges === null) return;
    for (const seriesId of this.#ranges.keys()) await queues.requests.dropSeries(seriesId);
  }

  async close(): Promise<void> {
    await this.#closing.run(this.#session.log);
  }
}
