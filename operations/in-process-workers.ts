/** Runs a scheduler and a worker in this process if no other is connected. */

import type { Range } from '../model/ranges.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { createSourceGate } from '../workers/source-gate.ts';
import type { OperationContext } from './context.ts';
import { Disposer } from './disposer.ts';
import { joinQueues } from './sources/queues.ts';

/**
 * @param ranges to fill, by series; null: no scheduler is needed.
 * @param of.sources that give the series. @param of.run whose queued windows are removed at the end.
 */
export function inProcessWorkers(
  context: OperationContext,
  ranges: ReadonlyMap<number, Range> | null,
  of: { readonly sources: readonly string[]; readonly run?: string },
) {
  const { sources, run } = of;
  const closing = new Disposer(context.clock);
  let queues: QueueBackend | undefined;
  let isScheduling = false;
  const working = new Set<string>();

  async function openQueues(): Promise<QueueBackend> {
    const opened = await context.openQueues();
    queues = opened;
    closing.add(() => opened.close());
    // Runs after worker and scheduler have stopped, so windows that they return are removed too.
    closing.add(() => dropOwn(opened));
    // A new command checks whether a source still answers with its message, or still refuses its key.
    for (const source of sources) {
      const requests = opened.requestsOf(source);
      const { database, log, clock } = context;
      if ((await requests.countWorkers()) === 0)
        await createSourceGate({ database, source, requests, log, clock }).retry();
    }
    return opened;
  }

  /** Queued windows would otherwise run in the next backfill or service. */
  async function dropOwn(opened: QueueBackend): Promise<void> {
    // Leases expire, and coverage is in the database.
    if (opened.isLost()) return;
    const requests = joinQueues(opened, sources);
    if (run !== undefined) await requests.dropRun(run);
    if (!isScheduling || ranges === null) return;
    for (const seriesId of ranges.keys()) await requests.dropSeries(seriesId);
  }

  return {
    /** @param isNeeded whether there is work. */
    async ensure(isNeeded: boolean): Promise<QueueBackend> {
      const opened = queues ?? (await openQueues());
      if (!isNeeded) return opened;
      for (const source of sources) {
        if (working.has(source) || (await opened.requestsOf(source).countWorkers()) > 0) continue;
        const worker = await context.runWorker(opened, source);
        closing.add(() => worker.close());
        working.add(source);
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
