/** Who works on a queue now, on whatever host: a crashed worker is gone with its connection. */

import type { BullQueue } from './queue-store.ts';

/** @param workerName what workers of this installation call themselves. */
export async function workersOn<Data, Name extends string>(
  queue: BullQueue<Data, Name>,
  workerName: string,
): Promise<number> {
  const workers = await queue.getWorkers();
  return workers.filter((worker) => worker.rawname?.endsWith(`:w:${workerName}`)).length;
}
