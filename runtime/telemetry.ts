/**
 * Metrics of a process if METRICS_PORT is set, and traces if OTEL_EXPORTER_OTLP_ENDPOINT is set. Their modules are
 * loaded only then.
 */

import { statfs } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { StoreState } from '../metrics/state.ts';
import type { SourceFacts } from '../model/sources.ts';
import { budgetInForce } from '../planning/budget.ts';
import type { QueueBackend } from '../queue/backend.ts';
import type { Config } from '../settings/config.ts';
import type { Database } from '../store/db/database.ts';
import {
  databaseBytes,
  measureGaps,
  measureIntervals,
  measurePolls,
  measureQuarantine,
  measureRequests,
} from '../store/status/measures.ts';
import { readUpkeep } from '../store/upkeep/jobs.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { version } from '../version.ts';

export interface MeasuredContext {
  readonly clock: Clock;
  readonly config: Config;
  readonly database: Database;
  /** Whether it is the embedded database under `.tidemark/`. */
  readonly embedded: boolean;
}

export interface OpenMetrics extends Metrics {
  readonly url: string;
  close(): Promise<void>;
}

interface Telemetry {
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Logger;
}

/** @throws TidemarkError PORT_IN_USE, BAD_CONFIGURATION for an address that it cannot listen on. */
export async function openMetrics(command: string, { config, log }: Telemetry): Promise<OpenMetrics | null> {
  const { host, port } = config.metrics;
  if (port === undefined) return null;
  const { createMetrics } = await import('../metrics/metrics.ts');
  const { openMetricsEndpoint } = await import('../metrics/endpoint.ts');
  const metrics = createMetrics({ command, version });
  const endpoint = await openMetricsEndpoint(() => metrics.read(), { host, port });
  log.info({ metrics: endpoint.url }, 'metrics endpoint');
  return { ...metrics, url: endpoint.url, close: () => endpoint.close() };
}

/** Exports the state of database and queue in addition to this process's own metrics. */
export function exportState(
  metrics: Metrics,
  context: MeasuredContext,
  { requests, connectedBudgets }: QueueBackend,
  ofDefault: Pick<SourceFacts, 'requestsPerMinute' | 'isBudgetStated'>,
): void {
  metrics.measureState({
    store: () => readStore(context),
    async queue() {
      const [claimed, depth, workers, budgets] = await Promise.all([
        requests.claimedWindows(),
        requests.depth(),
        requests.countWorkers(),
        connectedBudgets(),
      ]);
      const requestsPerMinute = budgetInForce(ofDefault, budgets);
      return { requestsPerMinute, depth, load: { ...claimed.load, page: claimed.pages.size }, workers };
    },
    requestsPerMinute: ofDefault.requestsPerMinute,
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

export async function openTracing(command: string, { clock, config, log }: Telemetry): Promise<Tracing | null> {
  if (config.tracing.endpoint === undefined) return null;
  const { createTracing } = await import('../tracing/tracing.ts');
  return createTracing({ clock, command, version }, (cause) => log.warn({ cause }, 'traces could not be sent'));
}
