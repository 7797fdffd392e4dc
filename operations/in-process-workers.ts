/** Runs a scheduler and a worker in this process if no other is connected. */

import type { Range } from '../planning/ranges.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { readServiceMessage } from '../store/ledger/ledger.ts';
import type { OperationContext } from './context.ts';
import { Disposer } from './disposer.ts';

/**
 * @param ranges to fill, by series; null: no scheduler is needed.
 * @param run whose queued windows are removed at the end.
 */
export function inProcessWorkers(
  context: OperationContext,
  ranges: ReadonlyMap<number, Range> | null,
  run?: string,
) {
  const closing = new Disposer();
  let queues: QueueBackend | undefined;
  let isScheduling = false;
  let isWorking = false;

  async function openQueues(): Promise<QueueBackend> {
    const opened = await context.openQueues();
    queues = opened;
    closing.add(() => opened.close());
    // Runs after worker and scheduler have stopped, so windows that they return are removed too.
    closing.add(() => dropOwn(opened));
    const { requests } = opened;
    // A new command checks whether the source still answers with its message.
    if (
      (await readServiceMessage(context.database, Date.now())) !== null &&
      (await requests.countWorkers()) === 0
    )
      await requests.endPause();
    return opened;
  }

  /** Queued windows would otherwise run in the next backfill or service. */
  async function dropOwn({ requests, isLost }: QueueBackend): Promise<void> {
    // Leases expire, and coverage is in the database.
    if (isLost()) return;
    if (run !== undefined) await requests.dropRun(run);
    if (!isScheduling || ranges === null) return;
    for (const seriesId of ranges.keys()) await requests.dropSeries(seriesId);
  }

  return {
    /** @param isNeeded whether there is work. */
    async ensure(isNeeded: boolean): Promise<QueueBackend> {
      const opened = queues ?? (await openQueues());
      if (!isNeeded) return opened;
      if (!isWorking && (await opened.requests.countWorkers()) === 0) {
        const worker = await context.runWorker(opened);
        closing.add(() => worker.close());
        isWorking = true;
      }
      if (ranges !== null && !isScheduling && (await opened.planning.countWorkers()) === 0) {
        const scheduler = await context.runScheduler(opened, ranges);
        closing.add(() => scheduler.close());
        isScheduling = true;
      }
      return opened;
    },
    async close(): Promise<void> {
      context.phase('waiting for running requests');
      await closing.run(context.log);
    },
  };
}
