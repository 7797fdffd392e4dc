/** A migrated database for one test, on the requested server. */

import { inject, onTestFinished } from 'vitest';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { runsOnBoth } from '../parts/on-both.ts';
import { createMigratedDatabase, createTestDatabase, type TestDatabase } from '../parts/test-database.ts';

export interface TestStore {
  readonly database: Database;
  readonly url: string;
  close(): Promise<void>;
}

export async function openTestStore(on: 'main' | 'plain' = 'main'): Promise<TestStore> {
  return testStoreOn(await createMigratedDatabase(on));
}

export function testStoreOn({ url, drop }: TestDatabase): TestStore {
  const database = openDatabase({
    url,
    applicationName: 'tidemark test',
    maxConnections: 10,
    statementTimeoutMs: 30_000,
  });
  return {
    database,
    url,
    close: async () => {
      await database.close();
      await drop();
    },
  };
}

/** A database without any schema, until the end of the test. */
export async function openEmptyDatabase(on: 'main' | 'plain' = 'main'): Promise<Database> {
  const { url, drop } = await createTestDatabase(on);
  const database = openDatabase({
    url,
    applicationName: 'tidemark test',
    maxConnections: 2,
    statementTimeoutMs: 30_000,
  });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  return database;
}

/** A group of tests on TimescaleDB, on plain PostgreSQL without it, or on both as test/parts/on-both.ts says. */
export function onEachDatabase(title: string, body: (on: 'main' | 'plain') => void): void {
  const isTimescaleAbsent = inject('absent').timescale !== '';
  const isOnBoth = runsOnBoth('databases');
  if (isOnBoth || !isTimescaleAbsent) describeNeeding('timescale', `${title} on main`, () => body('main'));
  if (isOnBoth || isTimescaleAbsent)
    describeNeeding('plainPostgres', `${title} on plain`, () => body('plain'));
}
