/** Queues whose pauses end at once, while the test's clock moves by the whole of each. */

import type { QueueBackend } from '../../queue/backend.ts';
import { Arrivals } from '../parts/arrivals.ts';
import type { GivenTime } from '../pipeline/run-pipeline.ts';

const timesQuicker = 500;

export function quickPauses(
  queues: QueueBackend,
  clock: GivenTime,
): { queues: QueueBackend; readonly pausesMs: Arrivals<number> } {
  const pausesMs = new Arrivals<number>();
  async function pauseForMs(ms: number): Promise<void> {
    if (ms <= 0) return;
    await queues.requests.pauseForMs(ms / timesQuicker);
    clock.nowMs += ms;
    pausesMs.push(ms);
  }
  const requests = { ...queues.requests, pauseForMs };
  return { queues: { ...queues, requests, requestsOf: () => requests }, pausesMs };
}
