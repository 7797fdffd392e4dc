/** Migrated databases for a file or for one test, on the requested server. */

import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
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
  const database = connect(url, 10);
  return {
    database,
    url,
    close: async () => {
      await database.close();
      await drop();
    },
  };
}

/** One database for all tests of the file or group that calls this. */
export function useStore(on: 'main' | 'plain' = 'main'): Pick<TestStore, 'database' | 'url'> {
  let store: TestStore | undefined;
  beforeAll(async () => {
    store = await openTestStore(on);
  });
  afterAll(() => store?.close());
  const opened = () => {
    if (store === undefined) throw new Error('the database is opened before the first test');
    return store;
  };
  return {
    get database() {
      return opened().database;
    },
    get url() {
      return opened().url;
    },
  };
}

export async function openOwnStore(on: 'main' | 'plain' = 'main'): Promise<TestStore> {
  const store = await openTestStore(on);
  onTestFinished(store.close);
  return store;
}

export async function openEmptyDatabase(on: 'main' | 'plain' = 'main'): Promise<Database> {
  const { url, drop } = await createTestDatabase(on);
  const database = connect(url, 4);
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  return database;
}

export function connect(url: string, maxConnections: number): Database {
  return openDatabase({ url, applicationName: 'tidemark test', maxConnections, statementTimeoutMs: 30_000 });
}

/** A group of tests on TimescaleDB, on plain PostgreSQL without it, or on both as test/parts/on-both.ts says. */
export function onEachDatabase(title: string, body: (on: 'main' | 'plain') => void): void {
  const isTimescaleAbsent = inject('absent').timescale !== '';
  const isOnBoth = runsOnBoth('databases');
  if (isOnBoth || !isTimescaleAbsent) describeNeeding('timescale', `${title} on main`, () => body('main'));
  if (isOnBoth || isTimescaleAbsent) describeNeeding('plainPostgres', `${title} on plain`, () => body('plain'));
}
