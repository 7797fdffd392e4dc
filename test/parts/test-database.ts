/** A separate database for a test. */

import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { inject } from 'vitest';
import { systemClock } from '../../clock.ts';
import { migrateQueueBackend, type QueueBackendOptions } from '../../queue/backend.ts';
import { migrate } from '../../schema/migrate.ts';
import { readConfig } from '../../settings/config.ts';
import { createExtension } from '../../store/timescale/extension.ts';

export interface TestDatabase {
  readonly url: string;
  /** Drops it despite open connections. */
  drop(): Promise<void>;
}

/**
 * An empty database.
 *
 * @param on plain: without TimescaleDB; guard the group with `describeNeeding('plainPostgres', ...)`.
 */
export async function createTestDatabase(on: 'main' | 'plain' = 'main'): Promise<TestDatabase> {
  // The template that is never modified: TimescaleDB's image puts the extension into the other one.
  return await createFrom('template0', serverUrlOf(on));
}

/** As `createTestDatabase`, with the schema of `tidemark migrate`: a copy, which takes a sixth of the time. */
export async function createMigratedDatabase(on: 'main' | 'plain' = 'main'): Promise<TestDatabase> {
  const serverUrl = serverUrlOf(on);
  const template = inject('templates')[serverUrl];
  if (template === undefined) throw new Error('the set-up of the run made no template');
  return await createFrom(template, serverUrl);
}

/** Migrates a database of which `createMigratedDatabase` makes copies. Nobody can connect to it. */
export async function createTemplate(serverUrl: string): Promise<{ name: string; drop(): Promise<void> }> {
  const { url, drop } = await createFrom('template0', serverUrl);
  await withClient(url, createExtension);
  // The jobs of TimescaleDB run when a test runs them: hundreds of databases would keep the machine busy. They must not
  // run in the template either, because a copy has their results.
  await onTimescale(url, 'perform _timescaledb_functions.stop_background_workers()');
  await migrate({ url, direction: 'up', ifBusy: 'wait' });
  await migrateQueueBackend({ databaseUrl: url, redisUrl: undefined, namespace: readConfig({}).queue.namespace }, 'up');
  await onTimescale(
    url,
    `truncate _timescaledb_internal.bgw_job_stat, _timescaledb_internal.bgw_job_stat_history;
     perform alter_job(job_id, next_start => '2100-01-01') from timescaledb_information.jobs`,
  );
  const name = new URL(url).pathname.slice(1);
  // A database with connections cannot be copied, and TimescaleDB connects by itself.
  await execute(
    serverUrl,
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`,
  );
  return { name, drop };
}

function serverUrlOf(on: 'main' | 'plain'): string {
  const serverUrl = on === 'main' ? inject('databaseUrl') : inject('plainDatabaseUrl');
  if (serverUrl === null) throw new Error('there is no PostgreSQL without TimescaleDB in this run');
  return serverUrl;
}

export async function createFrom(template: string, serverUrl: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const server = await administer(serverUrl);
  // Copying the files takes a third of the time of logging their pages.
  await server.query(`create database ${name} template ${template} strategy file_copy`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => {
      // A connection that is being closed would be told that it is ended by force, where nobody listens any more.
      for (let waits = 0; waits < 50 && (await countSessions(server, name)) > 0; waits += 1) await setTimeout(10);
      await server.query(`drop database if exists ${name} with (force)`);
      const queue = queuesBeside.get(name);
      if (queue !== undefined) await removeQueue(queue);
    },
  };
}

const queuesBeside = new Map<string, QueueBackendOptions>();

/**
 * The queue of commands on a test's database, gone with it: on Redis where it is available. On PostgreSQL each command
 * opens a dozen connections.
 */
export function queueBeside(databaseUrl: string): QueueBackendOptions {
  const redisUrl = inject('redisUrl') ?? undefined;
  const options = { clock: systemClock, redisUrl, databaseUrl };
  if (redisUrl === undefined) return { ...options, namespace: readConfig({}).queue.namespace };
  const { port, pathname } = new URL(databaseUrl);
  const name = pathname.slice(1);
  // A test's own server has no database of a random name; a proxy has another port.
  const queue = { ...options, namespace: name.startsWith('test_') ? name : `${name}_${port}` };
  queuesBeside.set(name, queue);
  return queue;
}

/** Ends what the process keeps open for making databases. */
export async function closeAdministrators(): Promise<void> {
  await Promise.allSettled([...administrators.values()].map(async (client) => (await client).end()));
  administrators.clear();
}

export async function removeQueue({ redisUrl = '', namespace }: QueueBackendOptions): Promise<void> {
  const redis = new Redis(redisUrl);
  const keys = await redis.keys(`{${namespace}}:*`);
  if (keys.length > 0) await redis.del(...keys);
  redis.disconnect();
}

async function countSessions(server: pg.Client, database: string): Promise<number> {
  const { rows } = await server.query<{ sessions: number }>(
    'select count(*)::int as sessions from pg_stat_activity where datname = $1',
    [database],
  );
  return rows[0]?.sessions ?? 0;
}

const administrators = new Map<string, Promise<pg.Client>>();

/** The connection of this process that creates and drops databases on a server: connecting takes longer than a copy. */
function administer(serverUrl: string): Promise<pg.Client> {
  const known = administrators.get(serverUrl);
  if (known !== undefined) return known;
  const connecting = (async () => {
    const client = new pg.Client({ connectionString: serverUrl });
    client.on('error', () => administrators.delete(serverUrl));
    await client.connect();
    return client;
  })();
  administrators.set(serverUrl, connecting);
  connecting.catch(() => administrators.delete(serverUrl));
  return connecting;
}

async function onTimescale(url: string, statement: string): Promise<void> {
  const isThere = `exists (select from pg_extension where extname = 'timescaledb')`;
  await execute(url, `do $$ begin if ${isThere} then ${statement}; end if; end $$`);
}

export async function execute(serverUrl: string, ...statements: readonly string[]): Promise<void> {
  await withClient(serverUrl, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
