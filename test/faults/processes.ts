/** Runs the workers and schedulers of a backfill as separate processes. */

import { onTestFinished } from 'vitest';
import { type ChildModule, startChildModule } from '../parts/child-module.ts';
import { standingAt } from '../pipeline/process-clock.ts';
import type { SchedulerProcessSettings } from '../pipeline/scheduler-process.ts';
import type { WorkerProcessSettings } from '../pipeline/worker-process.ts';
import { type FaultyBackfill, lockMs } from './backfill.ts';

/** A busy machine may renew the lock of a job too late. The job then runs twice, which changes nothing. */
export const lostLock = /lock|job/i;

export const workerName = 'a worker to be killed';

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

/** @param requestsPerMinute the queue holds a minute of them. */
export function startSchedulerProcess(backfill: FaultyBackfill, requestsPerMinute: number): ChildModule {
  const words: SchedulerProcessSettings = {
    queueOptions: backfill.pipeline.queueOptions,
    databaseUrl: backfill.pipeline.database.url,
    applicationName: 'a scheduler to be killed',
    clock: standingAt(backfill.nowMs()),
    attempts: backfill.attempts,
    settings: { tickMs: 100, refreshMs: 10_000, pollsByDefault: false, backfillShare: 0.2 },
    graceMs: backfill.worker.settings.graceMs,
    refresh: false,
    requestsPerMinute,
    rangeLimits: backfill.scheduler.rangeLimits ?? {},
    lockMs,
  };
  return started('scheduler-process', words);
}

function started(module: string, settings: object, prefix: readonly string[] = []): ChildModule {
  const child = startChildModule(`test/pipeline/${module}.ts`, [JSON.stringify(settings)], {}, prefix);
  onTestFinished(() => child.end());
  return child;
}
