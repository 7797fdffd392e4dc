/** A separate database for a test. */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { readConfig } from '../../config.ts';
import { migrateQueueBackend } from '../../queue/backend.ts';
import { migrate } from '../../store/db/migrate.ts';

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
  await migrate({ url, direction: 'up', ifBusy: 'wait' });
  await migrateQueueBackend(
    { databaseUrl: url, redisUrl: undefined, namespace: readConfig({}).queue.namespace },
    'up',
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

async function execute(serverUrl: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
