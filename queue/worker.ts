/**
 * What takes jobs from a queue: BullMQ's worker, with its ways of ending a job behind {@link Outcome}.
 *
 * BullMQ asks for the next job when one ends, so a job may be taken a moment before it starts; the limiter counts
 * the taking. A worker that is killed leaves its jobs locked: when the locks have run out, another worker finds
 * them (twice, one check apart) and puts them back. That is not the jobs' fault, so it never fails them.
 */

import { setMaxListeners } from 'node:events';
import { type Job as BullJob, DelayedError, WaitingError, type Worker } from 'bullmq';
import type { Complaints } from './complaints.ts';
import type { Attempt, Outcome, Processor } from './outcome.ts';
import type { BullClasses } from './queue-store.ts';

export interface WorkerSettings {
  /** Jobs under way at once. */
  readonly concurrency: number;
  /** Spacing of job starts over all workers of the queue; null: none. */
  readonly limiter: { readonly max: number; readonly durationMs: number } | null;
  /** How long a job stays locked by a worker that no longer renews it. */
  readonly lockMs?: number;
  /** Time between two looks for jobs whose locks ran out. */
  readonly stalledCheckMs?: number;
  /** Whether others take it for present; true unless given. One that serves a single command does not count. */
  readonly isCounted?: boolean;
}

export interface QueueWorker {
  /** Resolves when the worker is connected. */
  ready(): Promise<void>;
  /**
   * Takes no more jobs, and waits for those under way. After `graceMs` the attempts are told to stop, and their
   * jobs go back to the queue.
   */
  close(graceMs: number): Promise<void>;
}

/** A pause needs a limiter to hold it, so where there is none, one that never limits stands in. */
const unlimited = Object.freeze({ max: 1_000_000_000, durationMs: 1 });
/** The most that both stores take: PostgreSQL refuses what is not a 32-bit integer, with every look for lost jobs. */
const anyNumber = 2 ** 31 - 1;
const defaultLockMs = 30_000;
/** How long after a lost connection to look again. */
const reconnectMs = 1000;
/** What closing may take beyond the grace: a store that is away answers nothing. */
const closingMs = 5000;
/** An attempt that threw something nobody expected. */
const afterDefectMs = 1000;
/** BullMQ's code for a job that is there no more. */
const jobIsGone = -1;

/** Carries the delay of a counted retry to the backoff strategy. */
class RetryLater extends Error {
  readonly inMs: number;
  constructor(inMs: number) {
    super('retry');
    this.inMs = inMs;
  }
}

export function startQueueWorker<Job extends { readonly name: string; readonly data: unknown }>(input: {
  readonly classes: BullClasses;
  readonly queueName: string;
  readonly workerName: string;
  readonly processor: Processor<Job>;
  readonly settings: WorkerSettings;
  readonly complain: Complaints;
}): QueueWorker {
  const { settings, complain } = input;
  const limiter = settings.limiter ?? unlimited;
  const stop = new AbortController();
  // Every attempt under way listens.
  setMaxListeners(0, stop.signal);

  const worker = new input.classes.Worker<Job['data'], void>(
    input.queueName,
    async (job, token) => {
      const outcome = await input.processor(attemptOf<Job>(job, stop.signal));
      await end(job, token, outcome);
    },
    {
      connection: 'worker',
      name: settings.isCounted === false ? `${input.workerName}-own` : input.workerName,
      concurrency: settings.concurrency,
      limiter: { max: limiter.max, duration: limiter.durationMs },
      lockDuration: settings.lockMs ?? defaultLockMs,
      stalledInterval: settings.stalledCheckMs ?? settings.lockMs ?? defaultLockMs,
      maxStalledCount: anyNumber,
      runRetryDelay: reconnectMs,
      settings: {
        backoffStrategy: (_attempts, _type, error) =>
          error instanceof RetryLater ? error.inMs : afterDefectMs,
      },
    },
  );
  function complainUnlessGone(error: Error): void {
    // It was dropped in the moment in which it was taken (the store on PostgreSQL lets that happen), or the queue was
    // lost. What it was for is stored, or still a gap: nobody has to act.
    if (!('code' in error && error.code === jobIsGone)) complain(error);
  }
  worker.on('error', complainUnlessGone);
  worker.on('failed', (_job, error) => {
    if (!(error instanceof RetryLater)) complainUnlessGone(error);
  });

  return Object.freeze({
    async ready() {
      await worker.waitUntilReady();
    },
    close: (graceMs) => close(worker, stop, graceMs),
  } satisfies QueueWorker);
}

function attemptOf<Job extends { readonly name: string; readonly data: unknown }>(
  job: BullJob<Job['data'], void>,
  stopping: AbortSignal,
): Attempt<Job> {
  const number = job.attemptsMade + 1;
  return {
    id: job.id ?? '',
    // Name and data were put in together.
    job: { name: job.name, data: job.data } as Job,
    number,
    last: number >= (job.opts.attempts ?? 1),
    waitedMs: waitedMs(job),
    carried: job.opts.telemetry?.metadata,
    stopping,
  };
}

/**
 * From when the job could have been taken to when it was. The two times may come from two machines, whose clocks differ.
 */
function waitedMs({ timestamp, opts, processedOn, attemptsStarted }: BullJob): number | null {
  if (attemptsStarted !== 1 || processedOn === undefined) return null;
  return Math.max(0, processedOn - timestamp - (opts.delay ?? 0));
}

/** Ends an attempt the way BullMQ wants it: by returning, or by what is thrown. */
async function end(job: BullJob, token: string | undefined, outcome: Outcome): Promise<void> {
  if (outcome.kind === 'done') return;
  if (outcome.kind === 'putBack') {
    // Not BullMQ's RateLimitError: after that a worker sleeps for the length of the pause even while it closes.
    await job.moveToWait(token);
    throw new WaitingError();
  }
  const inMs = Math.max(1, Math.ceil(outcome.inMs));
  if (outcome.counted) throw new RetryLater(inMs);
  await job.moveToDelayed(Date.now() + inMs, token);
  throw new DelayedError();
}

async function close(
  worker: Pick<Worker, 'close' | 'disconnect'>,
  stop: AbortController,
  graceMs: number,
): Promise<void> {
  const stopping = setTimeout(() => stop.abort(), graceMs);
  let givingUp: NodeJS.Timeout | undefined;
  const deadline = new Promise<'late'>((resolve) => {
    givingUp = setTimeout(() => resolve('late'), graceMs + closingMs);
  });
  const ended = await Promise.race([worker.close(), deadline]);
  clearTimeout(stopping);
  clearTimeout(givingUp);
  // What is still under way stays locked until its lock runs out, and is then found like the job of a killed worker.
  if (ended === 'late') void worker.disconnect().catch(() => {});
}
