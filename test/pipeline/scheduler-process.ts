/** A scheduler in a separate process, for tests that kill it. Argument: its settings as JSON. */

import { pino } from 'pino';
import type { SourceFacts } from '../../model/sources.ts';
import { openQueueBackend, type QueueBackendOptions } from '../../queue/backend.ts';
import { type SchedulerOptions, startScheduler } from '../../scheduler/scheduler.ts';
import { openDatabase } from '../../store/db/database.ts';
import { clockAt } from '../parts/test-clock.ts';
import { type GivenFacts, sourcesOf } from '../sources/source-facts.ts';
import { clockOf, type ProcessClock } from './process-clock.ts';

export interface SchedulerProcessSettings
  extends Omit<SchedulerOptions, 'database' | 'queues' | 'log' | 'clock' | 'within' | 'sources'>,
    Pick<SourceFacts, 'requestsPerMinute'>,
    Pick<GivenFacts, 'rangeLimits'> {
  readonly queueOptions: QueueBackendOptions;
  readonly databaseUrl: string;
  readonly applicationName: string;
  readonly clock: ProcessClock;
  readonly attempts: number;
}

const [json = ''] = process.argv.slice(2);
const settings: SchedulerProcessSettings = JSON.parse(json);
const log = pino({ level: 'silent' });
const clock = clockAt(clockOf(settings.clock));
await startScheduler({
  ...settings,
  sources: sourcesOf({ requestsPerMinute: settings.requestsPerMinute, rangeLimits: settings.rangeLimits ?? {} }),
  database: openDatabase({
    url: settings.databaseUrl,
    applicationName: settings.applicationName,
    maxConnections: 5,
    statementTimeoutMs: 30_000,
  }),
  queues: await openQueueBackend({ ...settings.queueOptions, clock, attempts: settings.attempts, log }),
  log,
  clock,
});
console.log('works');
