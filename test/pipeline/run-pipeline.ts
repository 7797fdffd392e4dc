/** The whole pipeline for one test: store, queue, worker and scheduler under one clock that only the test moves. */

import { expect, onTestFinished } from 'vitest';
import type { EpochMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { hasOpenPoint } from '../../planning/periods.ts';
import type { QueueBackend, QueueBackendOptions } from '../../queue/backend.ts';
import { type SchedulerOptions, startScheduler } from '../../scheduler/scheduler.ts';
import { type RunningSimulator, type SimulatorServiceOptions, startSimulator } from '../../simulator/start.ts';
import { marketDataService } from '../../sources/profiles/market-data-service.ts';
import { openSource, type SourceOptions } from '../../sources/source.ts';
import type { Database } from '../../store/db/database.ts';
import { seriesWithGaps } from '../../store/series/gaps.ts';
import { trackSeries } from '../../store/series/series.ts';
import { type RunningWorker, startWorker, type WorkerOptions } from '../../workers/worker.ts';
import { clockAt } from '../parts/test-clock.ts';
import { type Kind, openQueue, prepareQueue, silent } from '../queue/queue-parts.ts';
import { type GivenFacts, sourcesOf } from '../sources/source-facts.ts';
import { openOwnStore } from '../store/open-store.ts';

/** The clock of the source, the worker and the scheduler. It stands still until the test moves it. */
/** Options of a scheduler, with facts of the default source. */
export type PipelineScheduler = Partial<SchedulerOptions & Pick<GivenFacts, 'requestsPerMinute' | 'rangeLimits'>>;

export interface GivenTime {
  nowMs: EpochMs;
}

export interface RunningParts {
  /** Waits for a planning pass that begins when nothing is left to request, and finds nothing. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface Pipeline {
  readonly database: Database;
  readonly queueOptions: QueueBackendOptions;
  readonly queues: QueueBackend;
  /** @param toMs null: open-ended. @returns the series' id. */
  track(series: SeriesKey, fromMs: EpochMs, toMs: EpochMs | null): Promise<number>;
  startWorker(options?: Partial<WorkerOptions>): Promise<RunningWorker>;
  startScheduler(options?: PipelineScheduler): Promise<RunningParts>;
  /** Runs a worker and a scheduler until nothing is left to request at the clock's time, and stops both. */
  backfill(worker?: Partial<WorkerOptions>, scheduler?: PipelineScheduler): Promise<void>;
}

export interface PipelineOptions {
  readonly on?: 'main' | 'plain';
  /** An existing store, such as another pipeline's, instead of an empty one. */
  readonly store?: Pick<Pipeline, 'database'>;
  /** Replaces the common server of the tests. */
  readonly redisUrl?: string;
  /** Attempts of a window before it is deferred. */
  readonly attempts?: number;
  readonly source?: Partial<SourceOptions>;
  /** The log lines of the queue that a test expects when it breaks the queue. */
  readonly complaints?: RegExp;
}

export const graceMs = 60_000;
export const failedRetryMs = 600_000;
export const emptyConfirmMs = 3_600_000;
/**
 * A busy event loop, which the simulator shares, renews a lock too late: none expires unless the test kills its holder.
 */
export const keptLockMs = 600_000;
const refreshMs = 10_000;
const concurrency = 8;

/** Opens everything but the source. It closes when the test has finished. */
export async function openPipeline(
  kind: Kind,
  clock: GivenTime,
  baseUrl: string,
  { on = 'main', store, redisUrl, attempts = 3, complaints, source = {} }: PipelineOptions = {},
): Promise<Pipeline> {
  const { database } = store ?? (await openOwnStore(on));
  const queueOptions = await prepareQueue(kind, database.url, redisUrl);
  const queues = await openQueue(queueOptions, {
    attempts,
    ...(complaints === undefined ? {} : { expect: complaints }),
  });

  async function startOneWorker(options: Partial<WorkerOptions> = {}): Promise<RunningWorker> {
    const client = openSource({
      profile: marketDataService,
      baseUrl,
      timeoutMs: 30_000,
      maxBodyBytes: 10_000_000,
      connections: concurrency,
      clock: clockAt(() => clock.nowMs),
      ...source,
    });
    const worker = await startWorker({
      database,
      source: client,
      sourceName: defaultSource,
      queues,
      requestsPerMinute: 0,
      settings: { concurrency, attempts, failedRetryMs, emptyConfirmMs, graceMs },
      log: silent,
      clock: clockAt(() => clock.nowMs),
      lockMs: keptLockMs,
      // Retries without added jitter.
      random: () => 0,
      ...options,
    });
    async function close(graceMs?: number): Promise<void> {
      await worker.close(graceMs);
      await client.abandon();
    }
    onTestFinished(() => close(0));
    return { close };
  }

  async function startOneScheduler({
    requestsPerMinute = 0,
    rangeLimits = {},
    ...options
  }: PipelineScheduler = {}): Promise<RunningParts> {
    const waiters = new Set<() => void>();
    const refresh = options.refresh ?? false;
    const scheduler = await startScheduler({
      database,
      queues,
      sources: sourcesOf({ requestsPerMinute, rangeLimits }),
      settings: { tickMs: 100, refreshMs, pollsByDefault: false, backfillShare: 0.2 },
      graceMs,
      lockMs: keptLockMs,
      refresh,
      log: silent,
      clock: clockAt(() => clock.nowMs),
      async middleware(pass) {
        const asking = [...waiters];
        const wasSettled = asking.length > 0 && (await isSettled());
        const tick = await pass();
        for (const resolve of wasSettled && tick.added === 0 ? asking : []) {
          waiters.delete(resolve);
          resolve();
        }
        return tick;
      },
      ...options,
    });
    onTestFinished(() => scheduler.close());

    async function isSettled(): Promise<boolean> {
      if ((await queues.requests.claimedWindows()).windows.size > 0) return false;
      const openRefreshMs = refresh ? refreshMs : null;
      const query = { nowMs: clock.nowMs, graceMs, openRefreshMs, rangesPerSeries: 1 };
      const wanted = await seriesWithGaps(database, query);
      return wanted.every((entry) => entry.gaps.length === 0 && !hasOpenPoint(entry.series));
    }

    return { settled: () => new Promise((resolve) => void waiters.add(resolve)), close: () => scheduler.close() };
  }

  return {
    database,
    queueOptions,
    queues,
    async track(series, fromMs, toMs) {
      const tracked = await trackSeries(database, series, fromMs, toMs);
      return tracked.seriesId;
    },
    startWorker: startOneWorker,
    startScheduler: startOneScheduler,
    async backfill(worker, scheduler) {
      const planning = await startOneScheduler(scheduler);
      const working = await startOneWorker(worker);
      await planning.settled();
      await planning.close();
      await working.close();
      expect(await queues.requests.depth()).toEqual({ waiting: 0, active: 0, delayed: 0 });
    },
  };
}

/** A simulator without a request limit, on the test's clock. It closes when the test has finished. */
export async function simulate(
  clock: GivenTime,
  options: Partial<SimulatorServiceOptions> = {},
): Promise<RunningSimulator> {
  const simulator = await startSimulator({ perMinute: null, clock: clockAt(() => clock.nowMs), ...options });
  onTestFinished(() => simulator.close());
  return simulator;
}
