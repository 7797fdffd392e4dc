/** The metrics of the state of the installation, which schedulers export. */

import { statfs } from 'node:fs/promises';
import type { Metrics } from '../metrics/metrics.ts';
import type { StoreState } from '../metrics/state.ts';
import { defaultSource } from '../model/sources.ts';
import { joinQueues } from '../operations/sources/queues.ts';
import { readState } from '../operations/status/facts.ts';
import { readQueueFacts } from '../operations/status/queue-facts.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { SourceRegistry } from '../sources/registry.ts';
import { sourcesInUse } from '../store/series/sources.ts';
import { readLoweredBudgets } from '../store/settings/source-orders.ts';
import {
  databaseBytes,
  measureGaps,
  measureIntervals,
  measurePolls,
  measureQuarantine,
  measureRequests,
} from '../store/status/measures.ts';
import { readUpkeep } from '../store/upkeep/jobs.ts';
import type { MeasuredContext } from './telemetry.ts';

interface StateContext extends MeasuredContext {
  readonly sources: () => Promise<SourceRegistry>;
}

/** Exports the state of database and queue in addition to this process's own metrics. */
export function exportState(metrics: Metrics, context: StateContext, queues: QueueBackend): void {
  // The last known ones, while the database is away.
  let inUse: readonly string[] = [];
  let lowered: Awaited<ReturnType<typeof readLoweredBudgets>> = new Map();
  metrics.measureState({
    store: () => readStore(context),
    async queue() {
      inUse = await sourcesInUse(context.database).catch(() => inUse);
      lowered = await readLoweredBudgets(context.database).catch(() => lowered);
      const requests = joinQueues(queues, [...new Set([defaultSource, ...inUse])]);
      const [{ load, pages }, depth, workers, { perMinute }] = await Promise.all([
        requests.claimedWindows(),
        requests.depth(),
        requests.countWorkers(),
        readQueueFacts(context, queues, inUse, lowered),
      ]);
      return { requestsPerMinute: perMinute, depth, load: { ...load, page: pages }, workers };
    },
    whole: () => readState(context, queues, context.clock.now()),
    clock: context.clock,
  });
}

/** Reads sequentially, so that metrics use one connection. */
async function readStore({ clock, database, config, embedded }: MeasuredContext): Promise<StoreState> {
  const nowMs = clock.now();
  const at = { nowMs, graceMs: config.worker.graceMs };
  const intervals = await measureIntervals.on(database.pool, at);
  const gaps = await measureGaps.on(database.pool, at);
  const polls = await measurePolls.on(database.pool, { nowMs });
  const requests = await measureRequests(database, nowMs);
  const quarantine = await measureQuarantine.on(database.pool, {});
  const upkeep = await readUpkeep(database, { nowMs, afterDays: config.storage.columnstoreAfterDays });
  const disk = embedded ? await diskOf(config.directory) : null;
  const bytes = await databaseBytes(database);
  return { intervals, gaps, polls, requests, quarantine, upkeep, databaseBytes: bytes, disk };
}

async function diskOf(directory: string): Promise<StoreState['disk']> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
