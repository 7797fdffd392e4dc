/** Jobs that come again by the clock. */

import type { JobSchedulerTemplateOptions } from 'bullmq';
import type { BullQueue } from './queue-store.ts';

export interface Repeated<Data, Name extends string> {
  readonly name: Name;
  readonly data: Data;
  readonly everyMs: number;
  readonly options: JobSchedulerTemplateOptions;
}

/** Longer than a worker takes to come back to a job that it lost. */
const overdueMs = 120_000;

/**
 * Sees to it that the job comes every `everyMs`; 0 ends it. Safe to call often, and meant to be: each occurrence
 * queues the next, so a flushed queue, or an occurrence lost with a crash, would end it in silence.
 */
export async function keepRepeating<Data, Name extends string>(
  queue: BullQueue<Data, Name>,
  repeated: Repeated<Data, Name>,
): Promise<void> {
  const { name, everyMs } = repeated;
  if (everyMs <= 0) {
    await queue.removeJobScheduler(name);
    return;
  }
  const present = await queue.getJobScheduler(name);
  const isAlive = present?.next !== undefined && present.next > Date.now() - everyMs - overdueMs;
  if (isAlive && present.every === everyMs) return;
  await queue.upsertJobScheduler(
    name,
    { every: everyMs },
    { name, data: repeated.data, opts: repeated.options },
  );
}
