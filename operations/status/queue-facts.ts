/** What the queues know: who is connected, the budgets in force, and what is queued. */

import { defaultSource } from '../../model/sources.ts';
import { budgetInForce, type LoweredBudget, loweredInForce, totalBudget } from '../../planning/budget.ts';
import type { QueueFacts } from '../../planning/headline.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import type { QueuedRange } from '../../queue/requests.ts';
import type { OperationContext } from '../context.ts';

export interface QueuesRead extends QueueFacts {
  /** Of all sources; 0: no limit. */
  readonly perMinute: number;
  /** Windows in the queues and those under way, by series. */
  readonly windows: ReadonlyMap<number, readonly QueuedRange[]>;
}

/**
 * Of the default source also where no series has it: lists are polled from it.
 *
 * @param inUse the sources of tracked series, whose budgets count; if there is none, that of the default one does.
 * @param lowered the figures of users. @throws whatever the queue throws.
 */
export async function readQueueFacts(
  { sources }: Pick<OperationContext, 'sources'>,
  queues: QueueBackend,
  inUse: readonly string[],
  lowered: ReadonlyMap<string, LoweredBudget>,
): Promise<QueuesRead> {
  const registry = await sources();
  const windows = new Map<number, readonly QueuedRange[]>();
  const [schedulers, ...found] = await Promise.all([
    queues.planning.countWorkers(),
    ...[...new Set([defaultSource, ...inUse])].map(async (source) => {
      const requests = queues.requestsOf(source);
      const [workers, pausedMs, budgets, ranges] = await Promise.all([
        requests.countWorkers(),
        requests.pausedForMs(),
        queues.connectedBudgets(source),
        requests.queuedRanges(),
      ]);
      const queued = new Map([...ranges].map(([seriesId, of]) => [seriesId, of.length]));
      for (const [seriesId, of] of ranges) windows.set(seriesId, [...(windows.get(seriesId) ?? []), ...of]);
      const own = registry.find(source)?.facts ?? { requestsPerMinute: 0, isBudgetStated: false };
      const ownPerMinute = budgetInForce(own, budgets);
      const inForce = loweredInForce(ownPerMinute, lowered.get(source));
      return { source, workers, pausedMs, perMinute: inForce?.perMinute ?? ownPerMinute, lowered: inForce, queued };
    }),
  ]);
  const budgeted = found.filter(({ source }) => inUse.length === 0 || inUse.includes(source));
  const perMinute = totalBudget(budgeted.map((one) => one.perMinute));
  return { schedulers, sources: found, perMinute, windows };
}
