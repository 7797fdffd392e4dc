/** Queues whose pauses end at once, while the test's clock moves by the whole of each. */

import type { QueueBackend } from '../../queue/backend.ts';
import type { GivenTime } from '../pipeline/run-pipeline.ts';

const timesQuicker = 500;

export function quickPauses(
  queues: QueueBackend,
  clock: GivenTime,
): { queues: QueueBackend; readonly pausesMs: readonly number[] } {
  const pausesMs: number[] = [];
  async function pauseForMs(ms: number): Promise<void> {
    if (ms <= 0) return;
    await queues.requests.pauseForMs(ms / timesQuicker);
    pausesMs.push(ms);
    clock.nowMs += ms;
  }
  const requests = { ...queues.requests, pauseForMs };
  return { queues: { ...queues, requests, requestsOf: () => requests }, pausesMs };
}
