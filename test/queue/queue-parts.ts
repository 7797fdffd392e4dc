/** Queues for tests, on PostgreSQL always, and on Redis where it is available. */

import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import pg from 'pg';
import { type Logger, pino } from 'pino';
import { afterAll, beforeAll, describe, inject, onTestFinished } from 'vitest';
import { systemClock } from '../../clock.ts';
import type { CandleSeries } from '../../model/series.ts';
import type { Window } from '../../model/window.ts';
import {
  migrateQueueBackend,
  openQueueBackend,
  type QueueBackend,
  type QueueBackendOptions,
} from '../../queue/backend.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { runsOnBoth } from '../parts/on-both.ts';
import { createTestDatabase, removeQueue, type TestDatabase } from '../parts/test-database.ts';
import { windowOf } from '../parts/windows.ts';

export type Kind = QueueBackend['kind'];

export const silent = pino({ level: 'silent' });

/** A log that keeps its lines of level warn and above. */
export function collectingLog(lines: string[]): Logger {
  return pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
}

/** The backend of a test that needs any: connecting to Redis takes less. */
export function defaultKind(): Kind {
  return inject('redisUrl') === null ? 'postgres' : 'redis';
}

/** The database of a group. The namespace of a test is a schema there. */
let shared: TestDatabase | undefined;

/** A group of tests on one backend, Redis where it is available, or on both as test/parts/on-both.ts says. */
export function onEachBackend(title: string, body: (kind: Kind) => void): void {
  const isRedisAbsent = inject('absent').redis !== '';
  const isOnBoth = runsOnBoth('queues');
  if (isOnBoth || isRedisAbsent)
    describe(`${title}, on PostgreSQL`, () => {
      beforeAll(async () => {
        shared = await createTestDatabase();
      });
      afterAll(async () => {
        await shared?.drop();
        shared = undefined;
      });
      body('postgres');
    });
  if (isOnBoth || !isRedisAbsent) describeNeeding('redis', `${title}, on Redis`, () => body('redis'));
}

async function ownDatabase(): Promise<string> {
  const { url, drop } = await createTestDatabase();
  onTestFinished(drop);
  return url;
}

/** A namespace of the test's own, removed when the test has finished. */
export async function prepareQueue(
  kind: Kind,
  databaseUrl?: string,
  ownRedisUrl?: string,
): Promise<QueueBackendOptions> {
  const namespace = `test_${randomBytes(6).toString('hex')}`;
  const redisUrl = kind === 'redis' ? (ownRedisUrl ?? inject('redisUrl') ?? undefined) : undefined;
  if (databaseUrl === undefined && kind === 'postgres') databaseUrl = shared?.url ?? (await ownDatabase());
  // Redis needs no database.
  databaseUrl ??= 'postgres://127.0.0.1:1/none';
  const options = { clock: systemClock, redisUrl, databaseUrl, namespace };
  await migrateQueueBackend(options, 'up');
  if (kind === 'redis') onTestFinished(() => emptyQueue(options));
  return options;
}

/**
 * Opens the queues, which close when the test has finished. The test then fails if the queue logged any line that does
 * not match `expect`.
 *
 * A lock that could not be renewed is no failure: on a machine that stands still for seconds BullMQ renews the lock of
 * a job that has just ended.
 */
export async function openQueue(
  options: QueueBackendOptions,
  { attempts = 3, expect = /(?!)/ }: { attempts?: number; expect?: RegExp } = {},
): Promise<QueueBackend> {
  const lines: string[] = [];
  const queues = await openQueueBackend({ ...options, attempts, log: collectingLog(lines) });
  onTestFinished(async () => {
    await queues.close();
    const unexpected = lines.filter((line) => !expect.test(line) && !/could not renew lock/.test(line));
    if (unexpected.length > 0) throw new Error(`unexpected log lines of the queue: ${unexpected.join('')}`);
  });
  return queues;
}

/** Empties the queues, like a flushed Redis or a restored database. */
export async function emptyQueue(options: QueueBackendOptions): Promise<void> {
  if (options.redisUrl !== undefined) {
    await removeQueue(options);
    return;
  }
  const client = new pg.Client({ connectionString: options.databaseUrl });
  await client.connect();
  const empty = () =>
    client.query(`set search_path to "${options.namespace}_queue"; truncate job, scheduler, rate_limit cascade`);
  try {
    // A worker may hold locks in another order: one of the two is told so, and the other one goes on.
    await empty().catch((error: { code?: string }) => (error.code === '40P01' ? empty() : Promise.reject(error)));
  } finally {
    await client.end();
  }
}

/**
 * Loses every job that waits, and no repetition: as if a crash came between the end of an occurrence and the next one.
 */
export async function loseJobs({ redisUrl, databaseUrl, namespace }: QueueBackendOptions): Promise<void> {
  if (redisUrl !== undefined) {
    const redis = new Redis(redisUrl);
    const keys = await redis.keys(`{${namespace}}:*`);
    await redis.del(...keys.filter((key) => /:(?:delayed|prioritized|repeat:\w+:\d+)$/.test(key)));
    redis.disconnect();
    return;
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`delete from "${namespace}_queue".job`);
  await client.end();
}

export const bitcoinHours: CandleSeries = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'h1',
};

/** The window `[place, place + 1)` hours of a series. */
export function windowAt(place: number, lane: Window['lane'] = 'backfill', seriesId = 1): Window {
  const startMs = place * 3_600_000;
  return windowOf({ seriesId, series: bitcoinHours, startMs, endMs: startMs + 3_600_000 }, lane);
}
