/** The metrics of a process, where METRICS_PORT asks for them. Otherwise nothing of them is even loaded. */

import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { StoreState } from '../metrics/state.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { databaseBytes, measureQuarantine } from '../store/measures/kept.ts';
import { measurePolls } from '../store/measures/polls.ts';
import { measureRequests } from '../store/measures/requests.ts';
import { measureGaps, measureIntervals } from '../store/measures/series.ts';
import { ratesEveryMs } from '../store/snapshots/lists.ts';
import type { Session } from './session.ts';
import { version } from './version.ts';

export interface OpenMetrics extends Metrics {
  /** Where they are read. */
  readonly url: string;
  close(): Promise<void>;
}

/** @throws TidemarkError PORT_IN_USE, BAD_CONFIGURATION for an address that cannot be listened on. */
export async function openMetrics(
  command: string,
  { metrics: { host, port } }: Config,
  log: Logger,
): Promise<OpenMetrics | null> {
  if (port === undefined) return null;
  const { createMetrics } = await import('../metrics/metrics.ts');
  const { openMetricsEndpoint } = await import('../metrics/endpoint.ts');
  const metrics = createMetrics({ command, version });
  const endpoint = await openMetricsEndpoint(() => metrics.read(), { host, port });
  log.info({ metrics: endpoint.url }, 'metrics are read here');
  return { ...metrics, url: endpoint.url, close: () => endpoint.close() };
}

/** Exports the state of database and queue along with what this process does. */
export function watchState(metrics: Metrics, session: Session, { requests }: QueueBackend): void {
  metrics.watchState({
    store: () => readStore(session),
    async queue() {
      const [claimed, depth, workers] = await Promise.all([
        requests.claimedWindows(),
        requests.depth(),
        requests.workersPresent(),
      ]);
      return { depth, load: { ...claimed.load, page: claimed.pages.size }, workers };
    },
    requestsPerMinute: session.config.source.requestsPerMinute,
    now: Date.now,
  });
}

/** One statement after the other: whoever looks must not take the connections of who works. */
async function readStore({ database, config, embedded }: Session): Promise<StoreState> {
  const nowMs = Date.now();
  const at = { nowMs, graceMs: config.worker.graceMs };
  const intervals = await measureIntervals(database, at);
  const gaps = await measureGaps(database, at);
  const everyMs = await ratesEveryMs(database, config.scheduler.ratesMs);
  const polls = await measurePolls(database, { nowMs, ratesEveryMs: everyMs });
  const requests = await measureRequests(database, nowMs);
  const quarantine = await measureQuarantine(database);
  const disk = embedded ? await diskOf(config.directory) : null;
  return { intervals, gaps, polls, requests, quarantine, databaseBytes: await databaseBytes(database), disk };
}

async function diskOf(directory: string): Promise<StoreState['disk']> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
