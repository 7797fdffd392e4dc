/** Starts the scheduler and the worker for the commands that run one or both. */

import type { Logger } from 'pino';
import { messageOf } from '../errors.ts';
import { dayMs } from '../model/intervals.ts';
import type { Range } from '../model/ranges.ts';
import { defaultSource } from '../model/sources.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { type RunningScheduler, startScheduler } from '../scheduler/scheduler.ts';
import { pauseForUse } from '../sources/profiles/use.ts';
import type { SourceRegistry } from '../sources/registry.ts';
import { sourcesInUse } from '../store/series/sources.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { type RunningWorker, startWorker, transactionSlots } from '../workers/worker.ts';
import { eventsTo } from '../workers/worker-events.ts';
import type { ActivityLog } from './activity-log.ts';
import { areSourcesWanted, assertDefaultSource, readRegistry } from './sources.ts';
import { exportState } from './state-metrics.ts';
import type { MeasuredContext, OpenMetrics } from './telemetry.ts';

export interface PipelineContext extends MeasuredContext {
  readonly sources: () => Promise<SourceRegistry>;
  readonly log: Logger;
  readonly metrics: OpenMetrics | null;
  readonly tracing: Tracing | null;
  /** Logs what the process did; absent: nothing is logged. */
  readonly activity?: ActivityLog | undefined;
}

/** @throws TidemarkError BAD_CONFIGURATION when SOURCE_URL is not set, and no series has another source. */
export async function requireSources({
  config,
  database,
}: Pick<PipelineContext, 'config' | 'database'>): Promise<void> {
  const used = await sourcesInUse(database);
  if (used.every((source) => source === defaultSource)) await assertDefaultSource(config);
}

export interface WorkerChoice {
  readonly source: string;
  readonly concurrency?: number | undefined;
  /** Shared by the workers of a process. */
  readonly transactions?: ReturnType<typeof transactionSlots> | undefined;
}

/**
 * Files of an archive that a worker reads at once: one is read while another one is stored, and two bound its memory.
 */
const filesAtOnce = 3;

/**
 * Starts a worker with its own source client.
 *
 * @throws TidemarkError BAD_CONFIGURATION when the source cannot be asked, or no source has the name.
 */
export async function runWorker(
  context: PipelineContext,
  queues: QueueBackend,
  choice: WorkerChoice,
): Promise<RunningWorker> {
  const { clock, config, database, log, metrics, tracing, activity } = context;
  const { source: sourceName } = choice;
  const sources = await currentSources(context, sourceName);
  const { profile, facts } = sources.get(sourceName);
  const wanted = choice.concurrency ?? config.worker.concurrency;
  const concurrency = facts.files === null ? wanted : Math.min(wanted, filesAtOnce);
  const requests = queues.requestsOf(sourceName);
  const source = sources.open(sourceName, {
    clock,
    connections: concurrency,
    onRequest(request) {
      metrics?.work().request(request);
      tracing?.request(request);
    },
    onReply: (reply) => {
      const pauseMs = pauseForUse(profile, reply, { concurrency, nowMs: clock.now() });
      // An unreachable queue starts no job, and logs that itself.
      if (pauseMs > 0) void requests.pauseForMs(pauseMs).catch(() => {});
    },
  });
  const worker = await startWorker({
    clock,
    database,
    source,
    sourceName,
    transactions: choice.transactions,
    queues,
    requestsPerMinute: facts.requestsPerMinute,
    settings: { ...config.worker, concurrency },
    log,
    middleware: tracing?.attempt,
    events: eventsTo([metrics?.work().worker, activity?.worker, tracing]),
  });
  return {
    async close(graceMs) {
      await worker.close(graceMs);
      // Unanswered requests went back to the queue. Waiting for them could exceed the supervisor's limit.
      await source.abandon();
    },
  };
}

/** The sources as they are now: the key of one may have been set since the process started. */
async function currentSources({ config, sources }: PipelineContext, name: string): Promise<SourceRegistry> {
  const known = await sources();
  return known.find(name)?.problem === null ? known : readRegistry(config);
}

/** How often a process looks for sources that series have got meanwhile, and tries those again that could not start. */
const sourcesEveryMs = 3000;

/**
 * Starts a worker for the default source, if it is configured, and one for each source of tracked series, also of those
 * that are tracked later. Without any it waits for one: a container that had ended could not be used to track it.
 *
 * @throws TidemarkError BAD_CONFIGURATION when only the default source is used, and is not configured.
 */
export async function runWorkers(
  context: PipelineContext,
  queues: QueueBackend,
  concurrency?: number,
): Promise<{ close(): Promise<void> }> {
  const { clock, config, database, log } = context;
  const transactions = transactionSlots(database);
  const workers = new Map<string, RunningWorker>();
  const failed = new Set<string>();
  const start = async (source: string) =>
    void workers.set(source, await runWorker(context, queues, { source, concurrency, transactions }));
  // It gives the lists too.
  const isConfigured = (await context.sources()).get(defaultSource).problem === null;
  const used = await sourcesInUse(database);
  const areOthers = used.some((source) => source !== defaultSource) || (await areSourcesWanted(config));
  if (isConfigured || (used.length > 0 && !areOthers)) await start(defaultSource);
  else if (!areOthers) log.warn('no source is used yet: `tidemark track --source` names one, or set SOURCE_URL');
  async function startMissing(): Promise<void> {
    for (const source of await sourcesInUse(database)) {
      if (workers.has(source)) continue;
      await start(source).catch((error: unknown) => {
        if (!failed.has(source))
          log.error({ source, cause: messageOf(error) }, 'no worker can be started for a source; retrying');
        failed.add(source);
      });
    }
  }
  await startMissing();
  const keeper = clock.repeat(sourcesEveryMs, () => startMissing().catch(() => {}), sourcesEveryMs);
  return {
    async close() {
      await keeper.close();
      await Promise.all([...workers.values()].map((worker) => worker.close()));
    },
  };
}

/** @param only plans only gaps of these series within these ranges; absent: all series, open candles and polls. */
export async function runScheduler(
  context: PipelineContext,
  queues: QueueBackend,
  only?: ReadonlyMap<number, Range>,
): Promise<RunningScheduler> {
  const { clock, config, database, log, metrics, tracing, activity } = context;
  const sources = await context.sources();
  if (only === undefined && metrics !== null) exportState(metrics, context, queues);
  const counted = metrics?.planning();
  return startScheduler({
    clock,
    database,
    queues,
    settings: config.scheduler,
    ledgerMs: config.database.ledgerDays * dayMs,
    columnstoreAfterDays: only === undefined ? config.storage.columnstoreAfterDays : undefined,
    graceMs: config.worker.graceMs,
    refresh: only === undefined,
    reread: config.reread,
    seriesIds: only === undefined ? undefined : [...only.keys()],
    within: only,
    sources: sources.facts,
    middleware: tracing?.pass,
    events: (pass) => {
      counted?.(pass);
      activity?.pass(pass);
    },
    watchList: only === undefined ? config.watchList : undefined,
    readSources: async () => (await readRegistry(config)).facts,
    log,
  });
}
