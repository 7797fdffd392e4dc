/** Starts the scheduler and the worker for the commands that run one or both. */

import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { dayMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';
import type { Range } from '../planning/ranges.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { type RunningScheduler, startScheduler } from '../scheduler/scheduler.ts';
import { openSource } from '../source/source.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { version } from '../version.ts';
import { type RunningWorker, startWorker } from '../workers/worker.ts';
import type { WorkerEvents } from '../workers/worker-events.ts';
import type { ActivityLog } from './activity-log.ts';
import { exportState, type MeasuredContext, type OpenMetrics } from './telemetry.ts';

export interface PipelineContext extends MeasuredContext {
  readonly log: Logger;
  readonly metrics: OpenMetrics | null;
  readonly tracing: Tracing | null;
  /** Logs what the process did; absent: nothing is logged. */
  readonly activity?: ActivityLog | undefined;
}

/** @throws TidemarkError BAD_CONFIGURATION when SOURCE_URL is not set. */
export function requireSource(config: Config): string {
  if (config.source.url !== undefined) return config.source.url;
  throw new TidemarkError('BAD_CONFIGURATION', 'SOURCE_URL is not set', {
    remedy: 'set it to the base address of a Market Data Service, ending in /v2; or try `tidemark demo`',
  });
}

/** Starts a worker with its own source client. */
export async function runWorker(
  context: PipelineContext,
  queues: QueueBackend,
  concurrency = context.config.worker.concurrency,
): Promise<RunningWorker> {
  const { config, database, log, metrics, tracing, activity } = context;
  const listeners = [metrics?.work().request, tracing?.request].filter((listener) => listener !== undefined);
  const source = openSource({
    baseUrl: requireSource(config),
    apiKey: config.source.apiKey,
    timeoutMs: config.source.timeoutMs,
    maxBodyBytes: config.source.maxBodyBytes,
    connections: concurrency,
    userAgent: `tidemark/${version}`,
    onRequest: (request) => {
      for (const listener of listeners) listener(request);
    },
  });
  const worker = await startWorker({
    database,
    source,
    queues,
    requestsPerMinute: config.source.requestsPerMinute,
    settings: { ...config.worker, concurrency },
    log,
    middleware: tracing?.attempt,
    events: workerEvents([metrics?.work().worker, activity?.worker], tracing?.stored),
  });
  return {
    async close(graceMs) {
      await worker.close(graceMs);
      // Unanswered requests went back to the queue. Waiting for them could exceed the supervisor's limit.
      await source.abandon();
    },
  };
}

/** Metrics and the log receive every event, traces only stored work. */
function workerEvents(
  listeners: readonly (WorkerEvents | undefined)[],
  traced: WorkerEvents['stored'] | undefined,
): WorkerEvents {
  return {
    claimed: (job) => {
      for (const listener of listeners) listener?.claimed(job);
    },
    stored: (work) => {
      for (const listener of listeners) listener?.stored(work);
      traced?.(work);
    },
    deferred: (work) => {
      for (const listener of listeners) listener?.deferred(work);
    },
    notStored: (trouble) => {
      for (const listener of listeners) listener?.notStored(trouble);
    },
  };
}

/** @param only plans only gaps of these series within these ranges; absent: all series, open candles and polls. */
export function runScheduler(
  context: PipelineContext,
  queues: QueueBackend,
  only?: ReadonlyMap<number, Range>,
): Promise<RunningScheduler> {
  const { config, database, log, metrics, tracing, activity } = context;
  if (only === undefined && metrics !== null) exportState(metrics, context, queues);
  const counted = metrics?.planning();
  return startScheduler({
    database,
    queues,
    requestsPerMinute: config.source.requestsPerMinute,
    isBudgetStated: config.source.isBudgetStated,
    settings: config.scheduler,
    ledgerMs: config.database.ledgerDays * dayMs,
    chunkDays: config.storage.chunkDays,
    columnstoreAfterDays: only === undefined ? config.storage.columnstoreAfterDays : undefined,
    graceMs: config.worker.graceMs,
    refresh: only === undefined,
    reread: config.reread,
    seriesIds: only === undefined ? undefined : [...only.keys()],
    within: only,
    rangeLimits: config.source.rangeLimits,
    middleware: tracing?.pass,
    events: (pass) => {
      counted?.(pass);
      activity?.pass(pass);
    },
    watchList: only === undefined ? config.watchList : undefined,
    log,
  });
}
