/** Runs a scheduler and a worker in this process if no other is connected. */

import type { Range } from '../planning/ranges.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { endsInServiceMessage } from '../store/ledger/ledger.ts';
import type { OperationContext } from './context.ts';
import { Disposer } from './disposer.ts';

export class InProcessWorkers {
  readonly #context: OperationContext;
  readonly #ranges: ReadonlyMap<number, Range> | null;
  readonly #run: string | undefined;
  #queues: QueueBackend | undefined;
  readonly #closing = new Disposer();
  #scheduling = false;
  #working = false;

  /**
   * @param ranges to fill, by series; null: no scheduler is needed.
   * @param run whose queued windows are removed at the end.
   */
  constructor(context: OperationContext, ranges: ReadonlyMap<number, Range> | null, run?: string) {
    this.#context = context;
    this.#ranges = ranges;
    this.#run = run;
  }

  /** @param needed whether there is work. */
  async ensure(needed: boolean): Promise<QueueBackend> {
    if (this.#queues === undefined) {
      const opened = await this.#context.openQueues();
      this.#queues = opened;
      this.#closing.add(() => opened.close());
      // Runs after worker and scheduler have stopped, so windows that they return are removed too.
      this.#closing.add(() => this.#dropOwn(opened));
      // A new command checks whether the source still answers with its message.
      if (
        (await endsInServiceMessage(this.#context.database)) &&
        (await opened.requests.countWorkers()) === 0
      )
        await opened.requests.endPause();
    }
    const queues = this.#queues;
    if (!needed) return queues;
    if (!this.#working && (await queues.requests.countWorkers()) === 0) {
      const worker = await this.#context.runWorker(queues);
      this.#closing.add(() => worker.close());
      this.#working = true;
    }
    if (this.#ranges === null) return queues;
    if (!this.#scheduling && (await queues.planning.countWorkers()) === 0) {
      const scheduler = await this.#context.runScheduler(queues, this.#ranges);
      this.#closing.add(() => scheduler.close());
      this.#scheduling = true;
    }
    return queues;
  }

  /** Queued windows would otherwise run in the next backfill or service. */
  async #dropOwn(queues: QueueBackend): Promise<void> {
    if (this.#run !== undefined) await queues.requests.dropRun(this.#run);
    if (!this.#scheduling || this.#ranges === null) return;
    for (const seriesId of this.#ranges.keys()) await queues.requests.dropSeries(seriesId);
  }

  async close(): Promise<void> {
    await this.#closing.run(this.#context.log);
  }
}
