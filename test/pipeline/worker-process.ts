/**
 * A worker in a separate process, for tests that kill it. Argument: its settings as JSON. It answers each line on its
 * standard input with a line about its memory use.
 */

import { pino } from 'pino';
import { defaultSource } from '../../model/sources.ts';
import { openQueueBackend, type QueueBackendOptions } from '../../queue/backend.ts';
import { marketDataService } from '../../sources/profiles/market-data-service.ts';
import { openSource } from '../../sources/source.ts';
import { openDatabase } from '../../store/db/database.ts';
import { startWorker, type WorkerOptions } from '../../workers/worker.ts';
import { peakMemoryKib } from '../parts/peak-memory.ts';
import { clockAt } from '../parts/test-clock.ts';
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
  /** Default: 0. */
  readonly requestsPerMinute?: number;
  readonly timeoutMs?: number;
}

const [json = ''] = process.argv.slice(2);
const settings: WorkerProcessSettings = JSON.parse(json);
const clock = clockAt(clockOf(settings.clock));
const log = pino({ level: 'silent' });
await startWorker({
  database: openDatabase({
    url: settings.databaseUrl,
    applicationName: settings.applicationName,
    maxConnections: 10,
    statementTimeoutMs: 30_000,
  }),
  sourceName: defaultSource,
  source: openSource({
    profile: marketDataService,
    baseUrl: settings.sourceUrl,
    timeoutMs: settings.timeoutMs ?? 30_000,
    maxBodyBytes: 10_000_000,
    connections: settings.worker.concurrency,
    clock,
  }),
  queues: await openQueueBackend({ ...settings.queueOptions, clock, attempts: settings.attempts, log }),
  requestsPerMinute: settings.requestsPerMinute ?? 0,
  settings: settings.worker,
  log,
  clock,
  lockMs: settings.lockMs,
});
process.stdin.on('data', () => {
  console.log(`rss ${Math.round(process.memoryUsage().rss / 1024)} at most ${peakMemoryKib()}`);
});
console.log('works');
