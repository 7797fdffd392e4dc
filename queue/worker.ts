/**
 * Wraps BullMQ's worker. An {@link Outcome} states how a job ends.
 *
 * BullMQ claims the next job when one ends, so a job may be claimed a moment before it starts; the limiter counts the
 * claim. The jobs of a killed worker stay locked until their locks expire; then another worker finds them (after two
 * checks) and puts them back. This never fails a job.
 */

import { setMaxListeners } from 'node:events';
import type { Job as BullJob, Worker } from 'bullmq';
import { systemClock, type Timer } from '../clock.ts';
import { codeOf } from '../errors.ts';
import { delayAtLeastOne } from './bullmq-internals.ts';
import type { Attempt, Outcome, Processor } from './jobs.ts';
import { DelayedError, WaitingError } from './packages.ts';
import { type BullClasses, nameOfWorker } from './queue-store.ts';

export interface WorkerSettings {
  /** Concurrent jobs. */
  readonly concurrency: number;
  /** Spacing of jobs across all workers of the queue; null: none. */
  readonly limiter: { readonly max: number; readonly durationMs: number } | null;
  /** Budget that other processes see, in requests a minute; 0: no limit. Absent: none is stated. */
  readonly requestsPerMinute?: number;
  /** Expiry of a lock that a worker no longer renews, and interval of the check for stalled jobs. */
  readonly lockMs?: number;
  /** Whether other processes count this worker; default true. A worker of a single command does not count. */
  readonly isCounted?: boolean;
}

export type QueueWorker = ReturnType<typeof startQueueWorker>;

/** BullMQ can pause only a queue with a limiter. Without a budget, this one never limits. */
const unlimited = Object.freeze({ max: 1_000_000_000, durationMs: 1 });
/** The PostgreSQL backend accepts at most a 32-bit integer. */
const maxStalls = 2 ** 31 - 1;
const defaultLockMs = 30_000;
/** Delay before a reconnect. */
const reconnectMs = 1000;
/** Time limit for closing after the grace period: an unreachable store never answers. */
const closingMs = 5000;
/** The same while the store is known to be unreachable: attempts end when they are aborted. */
const closingLostMs = 1000;
const checkLostMs = 100;
/** Delay of a retry after a defect. */
const afterDefectMs = 1000;
/** BullMQ's error code for a missing job. */
const missingJobCode = -1;

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
  readonly logError: (error: Error) => void;
  /** Whether the store is known to be unreachable. */
  readonly isLost: () => boolean;
}) {
  const { settings, logError } = input;
  // BullMQ reads it for each job.
  const limiter = bullLimiter(settings.limiter);
  const stop = new AbortController();
  // Every active attempt adds a listener.
  setMaxListeners(0, stop.signal);

  const worker = new input.classes.Worker<Job['data'], void>(
    input.queueName,
    async (job, token) => {
      const outcome = await input.processor(attemptOf<Job>(job, stop.signal));
      await end(job, token, outcome);
    },
    {
      connection: 'worker',
      name:
        settings.isCounted === false
          ? `${input.workerName}-own`
          : nameOfWorker(input.workerName, settings.requestsPerMinute),
      concurrency: settings.concurrency,
      limiter,
      lockDuration: settings.lockMs ?? defaultLockMs,
      stalledInterval: settings.lockMs ?? defaultLockMs,
      maxStalledCount: maxStalls,
      runRetryDelay: reconnectMs,
      settings: {
        backoffStrategy: (_attempts, _type, error) => (error instanceof RetryLater ? error.inMs : afterDefectMs),
      },
    },
  );
  delayAtLeastOne(worker);
  function logUnlessMissing(error: Error): void {
    // The job was removed while it was claimed (possible on PostgreSQL), or the queue was flushed. Its window is stored
    // or still a gap.
    if (codeOf(error) !== missingJobCode) logError(error);
  }
  worker.on('error', logUnlessMissing);
  worker.on('failed', (_job, error) => {
    if (!(error instanceof RetryLater)) logUnlessMissing(error);
  });

  return Object.freeze({
    /** Resolves when the worker is connected. */
    async ready() {
      await worker.waitUntilReady();
    },
    /** Changes the spacing from the next job on; null: none. */
    setLimiter: (changed: WorkerSettings['limiter']) => void Object.assign(limiter, bullLimiter(changed)),
    /**
     * Claims no more jobs, and waits for active ones. After `graceMs` their attempts are aborted, and the jobs go back
     * to the queue. While the store is unreachable the grace period ends at once: no result could be told to it.
     */
    close: (graceMs: number) => close(worker, stop, graceMs, input.isLost),
  });
}

function bullLimiter(limiter: WorkerSettings['limiter']): { max: number; duration: number } {
  const { max, durationMs } = limiter ?? unlimited;
  return { max, duration: durationMs };
}

function attemptOf<Job extends { readonly name: string; readonly data: unknown }>(
  job: BullJob<Job['data'], void>,
  stopping: AbortSignal,
): Attempt<Job> {
  const number = job.attemptsMade + 1;
  return {
    id: job.id ?? '',
    // Name and data belong together.
    job: { name: job.name, data: job.data } as Job,
    number,
    last: number >= (job.opts.attempts ?? 1),
    waitedMs: waitedMs(job),
    carried: job.opts.telemetry?.metadata,
    stopping,
  };
}

/** Time from due to claimed. The two times may come from machines whose clocks differ. */
function waitedMs({ timestamp, opts, processedOn, attemptsStarted }: BullJob): number | null {
  if (attemptsStarted !== 1 || processedOn === undefined) return null;
  return Math.max(0, processedOn - timestamp - (opts.delay ?? 0));
}

/** Ends an attempt in BullMQ's way: by returning, or by throwing one of its errors. */
async function end(job: BullJob, token: string | undefined, outcome: Outcome): Promise<void> {
  if (outcome.kind === 'done') return;
  if (outcome.kind === 'putBack') {
    // Not BullMQ's RateLimitError: after it a worker sleeps for the whole pause, even while it closes.
    await job.moveToWait(token);
    throw new WaitingError();
  }
  const inMs = Math.max(1, Math.ceil(outcome.inMs));
  if (outcome.counted) throw new RetryLater(inMs);
  // BullMQ compares it with the clock of its machine.
  await job.moveToDelayed(systemClock.now() + inMs, token);
  throw new DelayedError();
}

async function close(
  worker: Pick<Worker, 'close' | 'disconnect'>,
  stop: AbortController,
  graceMs: number,
  isLost: () => boolean,
): Promise<void> {
  const stopping = systemClock.after(graceMs, () => stop.abort());
  let givingUp: Timer | undefined;
  let checking: Timer | undefined;
  const deadline = new Promise<'late'>((resolve) => {
    givingUp = systemClock.after(graceMs + closingMs, () => resolve('late'));
  });
  const lost = new Promise<'late'>((resolve) => {
    checking = systemClock.every(checkLostMs, () => {
      if (!isLost()) return;
      checking?.stop();
      stop.abort();
      systemClock.after(closingLostMs, () => resolve('late'));
    });
  });
  const ended = await Promise.race([worker.close(), deadline, lost]);
  stopping.stop();
  givingUp?.stop();
  checking?.stop();
  // A job that is still active stays locked until its lock expires, like the job of a killed worker.
  if (ended === 'late') void worker.disconnect().catch(() => {});
}
