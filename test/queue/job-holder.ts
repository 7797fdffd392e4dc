/** A process that claims a job and never ends it. Arguments: the queue's options as JSON, the lock in milliseconds. */

import { pino } from 'pino';
import { systemClock } from '../../clock.ts';
import { openQueueBackend } from '../../queue/backend.ts';

const [options = '', lockMs = ''] = process.argv.slice(2);
const log = pino({ level: 'silent' });
const queues = await openQueueBackend({ ...JSON.parse(options), clock: systemClock, attempts: 3, log });
queues.startRequestWorker(
  (attempt) => {
    console.log(`holds ${attempt.id}`);
    return new Promise(() => {});
  },
  { concurrency: 1, limiter: null, lockMs: Number(lockMs) },
);
