/**
 * A worker in a process of its own, to be killed. Argument: its settings as JSON. Each line on its standard input is
 * answered with one about its memory.
 */

import { pino } from 'pino';
import { openQueueBackend, type QueueBackendOptions } from '../../queue/backend.ts';
import { openSource } from '../../source/source.ts';
import { openDatabase } from '../../store/database.ts';
import { startWorker, type WorkerOptions } from '../../workers/worker.ts';
import { clockOf, type ProcessClock } from './process-clock.ts';

export interface WorkerProcessSettings {
  readonly queueOptions: QueueBackendOptions;
  readonly databaseUrl: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly sourceUrl: string;
  readonly clock: ProcessClock;
  readonly attempts: number;
  readonly worker: WorkerOptions['settings'];
  readonly lockMs: number;
  /** 0 unless given. */
  readonly requestsPerMinute?: number;
  readonly timeoutMs?: number;
}

const [json = ''] = process.argv.slice(2);
const settings: WorkerProcessSettings = JSON.parse(json);
const now = clockOf(settings.clock);
const log = pino({ level: 'silent' });
await startWorker({
  database: openDatabase({
    url: settings.databaseUrl,
    applicationName: settings.applicationName,
    maxConnections: 10,
    statementTimeoutMs: 30_000,
  }),
  source: openSource({
    baseUrl: settings.sourceUrl,
    timeoutMs: settings.timeoutMs ?? 30_000,
    maxBodyBytes: 10_000_000,
    connections: settings.worker.concurrency,
    now,
  }),
  queues: await openQueueBackend({ ...settings.queueOptions, attempts: settings.attempts, log }),
  requestsPerMinute: settings.requestsPerMinute ?? 0,
  settings: settings.worker,
  log,
  now,
  lockMs: settings.lockMs,
});
process.stdin.on('data', () => {
  // KiB, as the system counts it.
  const { maxRSS } = process.resourceUsage();
  console.log(`rss ${Math.round(process.memoryUsage().rss / 1024)} at most ${maxRSS}`);
});
console.log('works');
