/** A worker in a process of its own, to be killed. Argument: its settings as JSON. */

import { pino } from 'pino';
import { openQueueBackend, type QueueBackendOptions } from '../../queue/backend.ts';
import { openSource } from '../../source/source.ts';
import { openDatabase } from '../../store/database.ts';
import { startWorker, type WorkerOptions } from '../../workers/worker.ts';

export interface WorkerProcessSettings {
  readonly queueOptions: QueueBackendOptions;
  readonly databaseUrl: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly sourceUrl: string;
  readonly nowMs: number;
  readonly attempts: number;
  readonly worker: WorkerOptions['settings'];
  readonly lockMs: number;
}

const [json = ''] = process.argv.slice(2);
const settings: WorkerProcessSettings = JSON.parse(json);
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
    timeoutMs: 30_000,
    maxBodyBytes: 10_000_000,
    connections: settings.worker.concurrency,
  }),
  queues: await openQueueBackend({ ...settings.queueOptions, attempts: settings.attempts, log }),
  requestsPerMinute: 0,
  settings: settings.worker,
  log,
  now: () => settings.nowMs,
  lockMs: settings.lockMs,
});
console.log('works');
