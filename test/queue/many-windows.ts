/**
 * A process that takes windows of a queue and puts them off by an hour, until it is told to end them. Argument: the
 * queue's options as JSON.
 */

import { pino } from 'pino';
import { systemClock } from '../../clock.ts';
import { openQueueBackend } from '../../queue/backend.ts';
import { done } from '../../queue/jobs.ts';

let isEnding = false;
process.stdin.once('data', () => {
  isEnding = true;
});
const options = JSON.parse(process.argv[2] ?? '');
const log = pino({ level: 'warn' });
const queues = await openQueueBackend({ ...options, clock: systemClock, attempts: 3, log });
const worker = queues.startRequestWorker(
  async ({ id, number }) => {
    console.log(`took ${id}, attempt ${number}`);
    return isEnding ? done : { kind: 'retry', inMs: 3_600_000, counted: false };
  },
  { concurrency: 10, limiter: null },
);
await worker.ready();
