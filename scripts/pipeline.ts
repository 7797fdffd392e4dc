/** Scheduler and worker as the configuration describes them, for the commands that run one or both. */

import type { Config } from '../config.ts';
import { dayMs } from '../contract/intervals.ts';
import { TidemarkError } from '../errors.ts';
import type { Range } from '../planning/ranges.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { type RunningScheduler, startScheduler } from '../scheduler/scheduler.ts';
import { openSource, type Source } from '../source/source.ts';
import { type RunningWorker, startWorker } from '../workers/worker.ts';
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
  const { config, database, log } = session;
  const source: Source = openSource({
    baseUrl: requireSource(config),
    apiKey: config.source.apiKey,
    timeoutMs: config.source.timeoutMs,
    maxBodyBytes: config.source.maxBodyBytes,
    connections: concurrency,
    userAgent: `tidemark/${version}`,
  });
  const worker = await startWorker({
    database,
    source,
    queues,
    requestsPerMinute: config.source.requestsPerMinute,
    settings: { ...config.worker, concurrency },
    log,
  });
  return {
    async close(graceMs) {
      await worker.close(graceMs);
      // What has not been answered by now went back to the queue; waiting for it would outlast a patient supervisor.
      await source.abandon();
    },
  };
}

/** @param only plans the gaps of these series within these ranges; absent: all series, open candles and polls too. */
export function runScheduler(
  session: Session,
  queues: QueueBackend,
  only?: ReadonlyMap<number, Range>,
): Promise<RunningScheduler> {
  const { config, database, log } = session;
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
    log,
  });
}
