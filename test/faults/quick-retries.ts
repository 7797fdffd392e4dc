/**
 * Queues whose retries have no growing delay: a window that fails eight times in a row would wait longer than a test.
 */

import type { QueueBackend } from '../../queue/backend.ts';

const longestMs = 1000;

export function quickRetries(queues: QueueBackend): QueueBackend {
  return {
    ...queues,
    startRequestWorker: (processor, settings) =>
      queues.startRequestWorker(async (attempt) => {
        const outcome = await processor(attempt);
        return outcome.kind === 'retry' ? { ...outcome, inMs: Math.min(outcome.inMs, longestMs) } : outcome;
      }, settings),
  };
}
