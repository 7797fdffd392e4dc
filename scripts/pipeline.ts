/** Scheduler and worker as the configuration describes them, for the commands that run one or both. */

import type { Config } from '../config.ts';
import { dayMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';
import type { Range } from '../planning/ranges.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { type RunningScheduler, startScheduler } from '../scheduler/scheduler.ts';
import { openSource, type Source } from '../source/source.ts';
import { tellingSource } from '../source/telling-source.ts';
import type { WorkerTold } from '../workers/told.ts';
import { type RunningWorker, startWorker } from '../workers/worker.ts';
import { watchState } from './measuring.ts';
import type { Session } from './session.ts';
import { version } from './version.ts';

/** @throws TidemarkError BAD_CONFIGURATION when SOURCE_URL is not set. */
export function requireSource(config: Config): string {
  if (config.source.url !== undefined) return config.source.url;
  throw new TidemarkError('BAD_CONFIGURATION', 'SOURCE_URL is not set', {
    remedy: 'set it to the base address of a Market Data Service, ending in /v2; or try `tidemark demo`',
  });
}

/** A worker with a source of its own. */
export async function runWorker(
  session: Session,
  queues: QueueBackend,
  concurrency = session.config.worker.concurrency,
): Promise<RunningWorker> {
  const { config, database, log, metrics, tracing } = session;
  const opened = openSource({
    baseUrl: requireSource(config),
    apiKey: config.source.apiKey,
    timeoutMs: config.source.timeoutMs,
    maxBodyBytes: config.source.maxBodyBytes,
    connections: concurrency,
    userAgent: `tidemark/${version}`,
  });
  const listeners = [metrics?.work().request, tracing?.request].filter((told) => told !== undefined);
  const source: Source =
    listeners.length === 0
      ? opened
      : tellingSource(opened, (request) => {
          for (const told of listeners) told(request);
        });
  const worker = await startWorker({
    database,
    source,
    queues,
    requestsPerMinute: config.source.requestsPerMinute,
    settings: { ...config.worker, concurrency },
    log,
    around: tracing?.attempt,
    told: workerTold(metrics?.work().worker, tracing?.stored),
  });
  return {
    async close(graceMs) {
      await worker.close(graceMs);
      // What has not been answered by now went back to the queue; waiting for it would outlast a patient supervisor.
      await source.abandon();
    },
  };
}

/** Both hear of what is stored; the rest is only counted. */
function workerTold(
  counted: WorkerTold | undefined,
  traced: WorkerTold['stored'] | undefined,
): WorkerTold | undefined {
  if (traced === undefined) return counted;
  return {
    taken: (job) => counted?.taken(job),
    stored: (work) => {
      counted?.stored(work);
      traced(work);
    },
    putAside: (work) => counted?.putAside(work),
    notStored: (trouble) => counted?.notStored(trouble),
  };
}

/** @param only plans the gaps of these series within these ranges; absent: all series, open candles and polls too. */
export function runScheduler(
  session: Session,
  queues: QueueBackend,
  only?: ReadonlyMap<number, Range>,
): Promise<RunningScheduler> {
  const { config, database, log, metrics, tracing } = session;
  if (only === undefined && metrics !== null) watchState(metrics, session, queues);
  return startScheduler({
    database,
    queues,
    requestsPerMinute: config.source.requestsPerMinute,
    settings: config.scheduler,
    ledgerMs: config.database.ledgerDays * dayMs,
    chunkDays: config.storage.chunkDays,
    graceMs: config.worker.graceMs,
    refresh: only === undefined,
    reread: config.reread,
    seriesIds: only === undefined ? undefined : [...only.keys()],
    within: only,
    rangeLimits: config.source.rangeLimits,
    around: tracing?.pass,
    told: metrics?.planning(),
    watchList: only === undefined ? config.watchList : undefined,
    log,
  });
}
