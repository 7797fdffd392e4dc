/** A migrated store, queues and a source for one test, closed when it has finished. */

import { onTestFinished } from 'vitest';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import type { QueueBackend, QueueBackendOptions } from '../../queue/backend.ts';
import type { Source } from '../../sources/source.ts';
import type { Database } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';
import { startWorker, type WorkerOptions } from '../../workers/worker.ts';
import { clockAt } from '../parts/test-clock.ts';
import { fillOf } from '../parts/windows.ts';
import { bitcoinHours, type Kind, openQueue, prepareQueue, silent } from '../queue/queue-parts.ts';
import { sourceAt } from '../sources/local-server.ts';
import { openOwnStore } from '../store/open-store.ts';

export interface WorkerParts {
  readonly database: Database;
  readonly queueOptions: QueueBackendOptions;
  readonly queues: QueueBackend;
}

/** Noon of a past day, at which every period up to eleven o'clock has closed. */
export const noonMs = Date.UTC(2024, 2, 1, 12);
export const hourMs = 3_600_000;

export async function openParts(
  kind: Kind,
  options: { attempts?: number; expect?: RegExp } = {},
): Promise<WorkerParts> {
  const store = await openOwnStore();
  const queueOptions = await prepareQueue(kind, store.url);
  const queues = await openQueue(queueOptions, options);
  return { database: store.database, queueOptions, queues };
}

export const settings: WorkerOptions['settings'] = Object.freeze({
  concurrency: 1,
  attempts: 3,
  failedRetryMs: 600_000,
  emptyConfirmMs: 3_600_000,
  graceMs: 0,
});

export async function startTestWorker(
  parts: WorkerParts,
  baseUrl: string,
  options: Partial<WorkerOptions> = {},
): Promise<{ close(graceMs?: number): Promise<void>; source: Source }> {
  const source = options.source ?? sourceAt(baseUrl, { clock: clockAt(() => noonMs) });
  const worker = await startWorker({
    database: parts.database,
    source,
    sourceName: defaultSource,
    queues: parts.queues,
    requestsPerMinute: 0,
    settings,
    log: silent,
    clock: clockAt(() => noonMs),
    // Retries without added jitter.
    random: () => 0,
    ...options,
  });
  onTestFinished(() => worker.close(0));
  return { close: worker.close, source };
}

/** Tracks the hours before noon. @returns the windows of one hour each, oldest first. */
export async function trackHours(parts: WorkerParts, hours: number, series: SeriesKey = bitcoinHours) {
  const fromMs = noonMs - hours * hourMs;
  const { seriesId } = await trackSeries(parts.database, series, fromMs, noonMs);
  return Array.from({ length: hours }, (_, place) =>
    fillOf({ seriesId, series, startMs: fromMs + place * hourMs, endMs: fromMs + (place + 1) * hourMs }),
  );
}

export interface LedgerLine {
  readonly verdict: string;
  readonly attempt: number;
  readonly status: number | null;
}

export async function ledgerOf(database: Database): Promise<LedgerLine[]> {
  const result = await database.pool.query<LedgerLine>(
    'select verdict, attempt, status from tidemark.fetches order by time, attempt, verdict',
  );
  return result.rows;
}

/** The covered range of the only series, as text. `{}` when it is empty. */
export async function coveredOf(database: Database): Promise<string | undefined> {
  const result = await database.pool.query<{ covered: string }>('select covered::text from tidemark.series');
  return result.rows[0]?.covered;
}
