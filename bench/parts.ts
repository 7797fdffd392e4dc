/** The real servers of a benchmark, and its own databases on them. */

import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import pg from 'pg';
import { migrateQueueBackend, type QueueBackend } from '../queue/backend.ts';
import { migrate } from '../schema/migrate.ts';
import { obtainPlain, obtainTimescale } from '../test/parts/obtain-database.ts';
import { obtainRedis } from '../test/parts/redis-part.ts';

export type QueueKind = QueueBackend['kind'];

export interface BenchParts {
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  /** Their versions, one on each line. */
  readonly report: readonly string[];
  stop(): Promise<void>;
}

/** Settings that affect the cost of a commit. */
const toldSettings = ['fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size'];

/**
 * The same servers as in the tests, except that one started here is durable: without `fsync` a commit would cost
 * nothing.
 */
export async function obtainParts(): Promise<BenchParts> {
  const timescale = await obtainTimescale({ fsync: 'on', full_page_writes: 'on' });
  const database = typeof timescale === 'string' ? await obtainPlain() : timescale;
  if (typeof database === 'string') throw new Error(`no database to measure on: ${timescale}; ${database}`);
  const redis = await obtainRedis();
  const extension = database.timescale === null ? 'WITHOUT TimescaleDB' : `with TimescaleDB ${database.timescale}`;
  return {
    databaseUrl: database.url,
    redisUrl: typeof redis === 'string' ? null : redis.url,
    report: [
      `Database: ${database.server} ${extension}, from ${database.how}`,
      `  ${await settingsOf(database.url)}`,
      typeof redis === 'string'
        ? `Redis: not at hand (${redis}); only the PostgreSQL queue is measured`
        : `Redis: ${redis.server}, from ${redis.how}`,
    ],
    async stop() {
      if (typeof redis !== 'string') await redis.stop();
      await database.stop();
    },
  };
}

export function queueKinds(parts: BenchParts): readonly QueueKind[] {
  return parts.redisUrl === null ? ['postgres'] : ['redis', 'postgres'];
}

/** The environment of a process that works on `databaseUrl` with this kind of queue. */
export function environmentOf(parts: BenchParts, kind: QueueKind, databaseUrl: string) {
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: kind === 'redis' ? (parts.redisUrl ?? undefined) : undefined,
    QUEUE_NAMESPACE: namespaceOf(databaseUrl),
  };
}

/** Runs `work` with a migrated database of its own, and drops it afterwards. */
export async function withDatabase<Result>(parts: BenchParts, work: (url: string) => Promise<Result>): Promise<Result> {
  const name = `bench_${randomBytes(4).toString('hex')}`;
  const url = new URL(parts.databaseUrl);
  url.pathname = `/${name}`;
  // The template that is never modified: TimescaleDB's image puts the extension into the other one.
  await execute(parts.databaseUrl, `create database ${name} template template0`);
  try {
    await migrate({ url: url.href, direction: 'up', ifBusy: 'wait' });
    await migrateQueueBackend({ databaseUrl: url.href, namespace: namespaceOf(url.href) }, 'up');
    return await work(url.href);
  } finally {
    await execute(parts.databaseUrl, `drop database ${name} with (force)`);
    if (parts.redisUrl !== null) await forgetQueue(parts.redisUrl, namespaceOf(url.href));
  }
}

async function forgetQueue(redisUrl: string, name: string): Promise<void> {
  const redis = new Redis(redisUrl);
  const keys = await redis.keys(`{${name}}:*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
}

/** Queues of different databases share one Redis. */
function namespaceOf(databaseUrl: string): string {
  return new URL(databaseUrl).pathname.slice(1);
}

async function settingsOf(url: string): Promise<string> {
  const rows = await execute<{ name: string; value: string }>(
    url,
    `select name, current_setting(name) as value from unnest('{${toldSettings.join(',')}}'::text[]) name`,
  );
  return rows.map((row) => `${row.name} ${row.value}`).join(', ');
}

async function execute<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
