/** A worker: takes jobs from the `requests` queue within the budget, and runs them. */

import { setMaxListeners } from 'node:events';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { isProbe } from '../model/window.ts';
import { differingBudgets, type LoweredBudget, limiterFor, lowerBudget, lowestBudget } from '../planning/budget.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { type Attempt, done, type Outcome, type RequestJob } from '../queue/jobs.ts';
import type { QueueWorker } from '../queue/worker.ts';
import type { Config } from '../settings/config.ts';
import { requestsOfWindow } from '../sources/profiles/profile.ts';
import type { Source } from '../sources/source.ts';
import { prepareWindow } from '../store/commit/prepare-window.ts';
import { verifyWindow } from '../store/commit/verification.ts';
import type { Database } from '../store/db/database.ts';
import { readLoweredBudget, readPauseOf } from '../store/settings/source-orders.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import { groupCommits } from './commit-groups.ts';
import { runAttempt } from './run-attempt.ts';
import { openRunningSource } from './running-source.ts';
import { retryWhileLocked } from './store-failure.ts';
import { isKnown, pageWork, probeWork, windowWork } from './work.ts';
import type { CommitSlot, WorkerContext } from './worker-context.ts';
import { type AttemptMiddleware, laneOf, type WorkerEvents } from './worker-events.ts';

export interface WorkerOptions {
  readonly database: Database;
  readonly source: Source;
  /** Name of the source. */
  readonly sourceName: string;
  /** Bounds the transactions of all workers of the process; absent: of this one. */
  readonly transactions?: LimitFunction | undefined;
  readonly queues: QueueBackend;
  /** The budget that all workers share; 0: the source has no limit. */
  readonly requestsPerMinute: number;
  readonly settings: Config['worker'];
  readonly log: Logger;
  /** Wraps each attempt. */
  readonly middleware?: AttemptMiddleware | undefined;
  /** Receives events of the work. */
  readonly events?: WorkerEvents | undefined;
  readonly clock: Clock;
  readonly random?: () => number;
  /** How long the jobs of a killed worker stay locked, and the interval of the search for such jobs. */
  readonly lockMs?: number;
}

export type RunningWorker = Awaited<ReturnType<typeof startWorker>>;

/** `docker stop` kills after ten seconds. */
const defaultGraceMs = 8000;
/** Interval of reading the budgets of other workers. */
const budgetsEveryMs = 3000;
/** More concurrent transactions add no throughput; waiting windows are committed in groups. */
const maxTransactions = 2;
/** Connections reserved for the planner and `status`. */
const reservedConnections = 2;
/** How long a pause of requests is known, and how long a job of it waits before it looks again. */
const pauseKnownMs = 1000;
const pausedRetryMs = 3000;

/** Concurrent transactions of a process. */
export function transactionSlots(database: Database): LimitFunction {
  const connections = database.pool.options.max;
  return pLimit(Math.max(1, Math.min(maxTransactions, connections - reservedConnections)));
}

export async function startWorker(options: WorkerOptions) {
  const { clock, database, queues, settings, log } = options;
  const { sourceName } = options;
  const slot = options.transactions ?? transactionSlots(database);
  const closing = new AbortController();
  // Every waiting commit adds a listener.
  setMaxListeners(0, closing.signal);
  const unlocked = retryWhileLocked({
    log,
    clock,
    closing: closing.signal,
    onWait: () => options.events?.notStored({ isTransient: true }),
  });
  const limiter = limiterOf(options.source, options.requestsPerMinute);
  const source = await openRunningSource(
    { name: sourceName, client: options.source, queues, database, log, clock },
    { limiter, failedRetryMs: settings.failedRetryMs },
  );
  const { graceMs, emptyConfirmMs, failedRetryMs } = settings;
  const commitSlot: CommitSlot = (commit) => unlocked(() => slot(commit));
  const context: WorkerContext = {
    ...{ clock, database, source, log, events: options.events },
    storeBreaker: createCircuitBreaker({ what: 'the database', threshold: 1, log }),
    commits: {
      slot: commitSlot,
      store: groupCommits(database, slot, unlocked),
      compare(commit) {
        const window = prepareWindow(commit);
        return commitSlot(() => verifyWindow(database, window));
      },
    },
    rules: { graceMs, emptyConfirmMs, failedRetryMs },
    random: options.random ?? Math.random,
  };
  const middleware = options.middleware ?? ((_attempt, run) => run());
  const isPaused = pauseOf(clock, database, sourceName);
  const worker = queues.startRequestWorker(
    async (attempt) => ((await isPaused()) ? whilePaused : middleware(attempt, () => run(attempt, context))),
    {
      concurrency: settings.concurrency,
      limiter,
      requestsPerMinute: options.requestsPerMinute,
      ...(options.lockMs === undefined ? {} : { lockMs: options.lockMs }),
    },
    sourceName,
  );
  try {
    await worker.ready();
  } catch (error) {
    // The caller tries again, with another one.
    await worker.close(0);
    throw error;
  }
  const budgets = keepLowestBudget(worker, clock, options);
  await budgets.check();
  return Object.freeze({
    /** Takes no more jobs and lets active ones end. Jobs that are not done after `graceMs` go back to the queue. */
    close: (graceMs = defaultGraceMs) => {
      closing.abort();
      budgets.stop();
      return worker.close(graceMs);
    },
  });
}

/** The queue counts windows. */
const limiterOf = ({ profile }: Source, requestsPerMinute: number) =>
  limiterFor(requestsPerMinute / requestsOfWindow(profile));

/**
 * Workers may be configured with different budgets. BullMQ's limiter applies the spacing of the worker that sends the
 * request, so neither budget would hold. All workers apply the lowest one, and log it. A user may lower it further.
 */
function keepLowestBudget(
  worker: QueueWorker,
  clock: Clock,
  { database, queues, requestsPerMinute, log, source, sourceName }: WorkerOptions,
) {
  let said: string | null = null;
  let lowered: LoweredBudget | null = null;
  async function check(): Promise<void> {
    // An unreachable queue logs that itself, and starts no job.
    const present = await queues.connectedBudgets(sourceName).catch(() => null);
    if (present === null) return;
    // While the store cannot say, what it said last counts.
    lowered = await readLoweredBudget(database, sourceName).catch(() => lowered);
    worker.setLimiter(limiterOf(source, lowerBudget(lowestBudget([requestsPerMinute, ...present]), lowered)));
    // A worker always states a budget.
    const differing = differingBudgets({ requestsPerMinute, isBudgetStated: true }, present);
    if (differing !== null && differing !== said) log.warn(differing);
    said = differing;
  }
  const timer = clock.every(budgetsEveryMs, () => void check());
  return { check, stop: () => timer.stop() };
}

/** Whether somebody has paused all requests or the source. While the store cannot say, what it said last counts. */
function pauseOf(clock: Clock, database: Database, source: string): () => Promise<boolean> {
  let known = { isPaused: false, untilMs: Number.NEGATIVE_INFINITY };
  return async () => {
    if (clock.monotonicMs() < known.untilMs) return known.isPaused;
    const pause = await readPauseOf(database, source).catch(() => undefined);
    const isPaused = pause === undefined ? known.isPaused : pause !== null;
    known = { isPaused, untilMs: clock.monotonicMs() + pauseKnownMs };
    return isPaused;
  };
}

/** The planner adds no windows meanwhile; those that are queued wait. */
const whilePaused: Outcome = { kind: 'retry', inMs: pausedRetryMs, counted: false };

/** Runs one attempt at a job, by the kind of its work. */
async function run(attempt: Attempt<RequestJob>, context: WorkerContext): Promise<Outcome> {
  const { job, waitedMs } = attempt;
  if (!isKnown(job)) {
    // Its window is still a gap, or the command queues it again.
    context.log.warn({ job: attempt.id }, 'ignored a job of another version');
    return done;
  }
  if (waitedMs !== null) context.events?.claimed({ lane: laneOf(job), waitedMs });
  if (job.name === 'page') return runAttempt(pageWork(job.data, context), attempt, context);
  const whole = job.data;
  const window = context.source.rangeLimits.shortened(whole);
  const work = isProbe(window) ? probeWork(window, whole, context) : windowWork(window, whole, context);
  return runAttempt(work, attempt, context);
}
