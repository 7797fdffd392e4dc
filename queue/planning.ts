/** The queue of planning passes, which cost no request; and jobs that repeat by the clock. */

import type { JobSchedulerJson, JobSchedulerTemplateOptions } from 'bullmq';
import { systemClock } from '../clock.ts';
import { type BullQueue, countWorkersOn } from './queue-store.ts';

export type PlanningJob = { readonly name: 'tick'; readonly data: Record<string, never> };

/** Id of the extra tick. */
export const extraTickId = 'tick_soon';
// A failed tick is not retried: the next one plans from the current state.
const jobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 };

export function planningQueue(queue: BullQueue<PlanningJob['data'], PlanningJob['name']>, workerName: string) {
  return Object.freeze({
    /** Runs a pass every `ms`, one at a time over all schedulers. Idempotent: repeats restore a lost repetition. */
    async tickEvery(ms: number) {
      // With overlapping passes, a window that one pass added could be fetched and gone from the queue before the other
      // pass, which still sees the gap, adds it again.
      await queue.setGlobalConcurrency(1);
      await keepRepeating(queue, { name: 'tick', data: {}, everyMs: ms, options: jobOptions });
    },

    /** Runs one extra pass after `ms`. Repeated calls before that add no other. */
    async tickSoon(ms: number) {
      await queue.add('tick', {}, { ...jobOptions, delay: ms, jobId: extraTickId });
    },

    /** Number of connected schedulers. */
    countWorkers: async () => (await countWorkersOn(queue, workerName)).count,
  });
}

/** Longer than the recovery of a stalled job. */
const overdueMs = 120_000;

/**
 * Repeats the job every `everyMs`. Call it often: each occurrence adds the next one, so a flushed queue or a
 * crash would end the repetition silently.
 */
async function keepRepeating<Data, Name extends string>(
  queue: BullQueue<Data, Name>,
  repeated: { name: Name; data: Data; everyMs: number; options: JobSchedulerTemplateOptions },
): Promise<void> {
  const { name, data, everyMs, options } = repeated;
  const present = await queue.getJobScheduler(name);
  if (present?.every === everyMs && (await isAlive(queue, present))) return;
  await queue.upsertJobScheduler(name, { every: everyMs }, { name, data, opts: options });
}

/** Whether the next occurrence is still to come, waits for a worker, runs, or has just added the one after it. */
async function isAlive(
  queue: Pick<BullQueue<unknown, string>, 'getJob' | 'getJobScheduler'>,
  { key, next, every = 0 }: JobSchedulerJson,
): Promise<boolean> {
  if (next === undefined) return false;
  // BullMQ sets it by the clock of its machine.
  const lateMs = systemClock.now() - next - every;
  if (lateMs <= 0) return true;
  if (lateMs > overdueMs) return false;
  const job = await queue.getJob(`repeat:${key}:${next}`);
  return job !== undefined || (await queue.getJobScheduler(key))?.next !== next;
}
