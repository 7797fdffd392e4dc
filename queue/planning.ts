/** The queue of what costs no request. */

import { workersOn } from './presence.ts';
import type { BullQueue } from './queue-store.ts';
import { keepRepeating } from './repeat.ts';

export type PlanningJob = { readonly name: 'tick'; readonly data: Record<string, never> };

export interface PlanningQueue {
  /** Plans every so often, one pass at a time over all schedulers. Called again with the same time, it mends what is broken. */
  tickEvery(ms: number): Promise<void>;
  /** Plans once more after `ms`, between the regular ticks. Asked for again before that, it stays one. */
  tickSoon(ms: number): Promise<void>;
  /** Schedulers connected to this queue now. */
  workersPresent(): Promise<number>;
}

/** Id of the one tick that runs between the regular ones. */
export const extraTickId = 'tick_soon';
// A tick that fails is not tried again: the next one plans from what is true then.
const jobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 };

/** @param workerName what workers of the queue call themselves. */
export function planningQueue(
  queue: BullQueue<PlanningJob['data'], PlanningJob['name']>,
  workerName: string,
): PlanningQueue {
  return Object.freeze({
    async tickEvery(ms) {
      // One pass at a time, whoever runs it: between two that overlap, a window that one added could be fetched and
      // gone from the queue before the other, which still sees its gap, adds it again.
      await queue.setGlobalConcurrency(1);
      await keepRepeating(queue, { name: 'tick', data: {}, everyMs: ms, options: jobOptions });
    },

    async tickSoon(ms) {
      await queue.add('tick', {}, { ...jobOptions, delay: ms, jobId: extraTickId });
    },

    workersPresent: () => workersOn(queue, workerName),
  } satisfies PlanningQueue);
}
