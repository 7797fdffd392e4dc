/** A separate database for a test. */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { readConfig } from '../../config.ts';
import { migrateQueueBackend } from '../../queue/backend.ts';
import { migrate } from '../../store/db/migrate.ts';
import { createExtension } from '../../store/timescale/extension.ts';

export interface TestDatabase {
  readonly url: string;
  /** Drops it despite open connections. */
  drop(): Promise<void>;
}

/**
 * Creates an empty database with a random name. Call `drop` in `afterAll` or `onTestFinished`.
 *
 * @param on the main server (with TimescaleDB if available), or the one without the extension.
 * @throws Error when `on` is 'plain' and there is none: guard the group with `describeNeeding('plainPostgres', ...)`.
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
  await migrateQueueBackend(
    { databaseUrl: url, redisUrl: undefined, namespace: readConfig({}).queue.namespace },
    'up',
  );
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

async function createFrom(template: string, serverUrl: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await execute(serverUrl, `create database ${name} template ${template}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`) };
}

async function onTimescale(url: string, statement: string): Promise<void> {
  const isThere = `exists (select from pg_extension where extname = 'timescaledb')`;
  await execute(url, `do $$ begin if ${isThere} then ${statement}; end if; end $$`);
}

/** Runs statements on a connection of their own. */
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
