/** A separate database for a test. */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

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
  const serverUrl = on === 'main' ? inject('databaseUrl') : inject('plainDatabaseUrl');
  if (serverUrl === null) throw new Error('there is no PostgreSQL without TimescaleDB in this run');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // The template that is never modified: TimescaleDB's image puts the extension into the other one.
  await execute(serverUrl, `create database ${name} template template0`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(serverUrl, `drop database if exists ${name} with (force)`) };
}

async function execute(serverUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
