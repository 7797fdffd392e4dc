/** Runs the workers and schedulers of a backfill as separate processes, and kills them. */

import { onTestFinished } from 'vitest';
import { type ChildModule, startChildModule } from '../parts/child-module.ts';
import { standingAt } from '../pipeline/process-clock.ts';
import type { SchedulerProcessSettings } from '../pipeline/scheduler-process.ts';
import type { WorkerProcessSettings } from '../pipeline/worker-process.ts';
import { concurrency, type FaultyBackfill, lockMs } from './backfill.ts';
import type { Chance } from './seeded.ts';
import { expectWhole, untilWhole, watch } from './witness.ts';

/** A busy machine may renew the lock of a job too late. The job then runs twice, which changes nothing. */
export const lostLock = /lock|job/i;

export const workerName = 'a worker to be killed';

/** The settings that a worker process needs. */
type Surroundings = Pick<FaultyBackfill, 'pipeline' | 'simulator' | 'attempts' | 'nowMs' | 'worker'>;

export function startWorkerProcess(
  backfill: Surroundings,
  settings: Partial<WorkerProcessSettings> = {},
  prefix: readonly string[] = [],
): ChildModule {
  const words: WorkerProcessSettings = {
    queueOptions: backfill.pipeline.queueOptions,
    databaseUrl: backfill.pipeline.database.url,
    applicationName: workerName,
    sourceUrl: backfill.simulator.url,
    clock: standingAt(backfill.nowMs()),
    attempts: backfill.attempts,
    worker: backfill.worker.settings,
    requestsPerMinute: backfill.worker.requestsPerMinute ?? 0,
    lockMs,
    ...settings,
  };
  return started('worker-process', words, prefix);
}

export function startSchedulerProcess(
  backfill: FaultyBackfill,
  options: Partial<SchedulerProcessSettings> = {},
): ChildModule {
  const words: SchedulerProcessSettings = {
    queueOptions: backfill.pipeline.queueOptions,
    databaseUrl: backfill.pipeline.database.url,
    applicationName: 'a scheduler to be killed',
    clock: standingAt(backfill.nowMs()),
    attempts: backfill.attempts,
    settings: { tickMs: 100, refreshMs: 10_000, ratesMs: 0, backfillShare: 0.2 },
    graceMs: backfill.worker.settings.graceMs,
    refresh: false,
    requestsPerMinute: 0,
    rangeLimits: backfill.scheduler.rangeLimits,
    lockMs,
    ...options,
  };
  return started('scheduler-process', words);
}

function started(module: string, settings: object, prefix: readonly string[] = []): ChildModule {
  const child = startChildModule(`test/pipeline/${module}.ts`, [JSON.stringify(settings)], {}, prefix);
  onTestFinished(() => child.end());
  return child;
}

/** More work is added when fewer windows than this are left. */
const leftAtLeast = 40;

/** Adds windows, so that the database does not run out of missing ones before the last kill. */
async function keepGoing(backfill: FaultyBackfill): Promise<void> {
  const left = backfill.windows() - backfill.simulator.requests().total;
  if (left < leftAtLeast) await backfill.widen(leftAtLeast);
}

/** Kills one of two workers at random times, `times` times. */
export async function killWorkers(backfill: FaultyBackfill, chance: Chance, times: number): Promise<void> {
  await backfill.pipeline.startScheduler(backfill.scheduler);
  const workers = [startWorkerProcess(backfill), startWorkerProcess(backfill)];
  const watching = watch(backfill);
  for (let killed = 0; killed < times; killed += 1) {
    const place = chance.whole(0, workers.length - 1);
    await workers[place]?.waitForPrinted(/works/);
    await keepGoing(backfill);
    await backfill.requestsMore(chance.whole(1, 10));
    await aMoment(chance);
    await workers[place]?.end('SIGKILL');
    workers[place] = startWorkerProcess(backfill);
  }
  await untilWhole(backfill, 120_000);
  await watching.stop();
  await expectWhole(backfill);
  // The requests in flight of a killed worker are repeated.
  backfill.expectFewRequests({ extra: times * concurrency, underWay: 4 * concurrency });
}

/** Kills the only scheduler `times` times, while a worker continues with the queued jobs. */
export async function killSchedulers(backfill: FaultyBackfill, chance: Chance, times: number): Promise<void> {
  await backfill.pipeline.startWorker({ ...backfill.worker, lockMs });
  // The queue holds few windows, so that work soon stops without a scheduler.
  // After some seconds the worker keeps to this budget as well.
  const few = { requestsPerMinute: 240 };
  let scheduler = startSchedulerProcess(backfill, few);
  const watching = watch(backfill);
  for (let killed = 0; killed < times; killed += 1) {
    await scheduler.waitForPrinted(/works/);
    await keepGoing(backfill);
    await backfill.requestsMore(chance.whole(1, 40));
    await aMoment(chance);
    await scheduler.end('SIGKILL');
    scheduler = startSchedulerProcess(backfill, few);
  }
  await untilWhole(backfill, 120_000);
  await watching.stop();
  await expectWhole(backfill);
  backfill.expectFewRequests({ extra: times });
}

/** Waits for some random milliseconds: a window takes about as long from its request to its commit. */
async function aMoment(chance: Chance): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, chance.whole(0, 60)));
}
