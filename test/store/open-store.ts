/** A migrated database for one test, on the requested server. */

import { type Database, openDatabase } from '../../store/db/database.ts';
import { timescaleVersion } from '../../store/timescale/extension.ts';
import { createMigratedDatabase } from '../parts/test-database.ts';

export interface TestStore {
  readonly database: Database;
  readonly url: string;
  close(): Promise<void>;
}

export async function openTestStore(on: 'main' | 'plain' = 'main'): Promise<TestStore> {
  const { url, drop } = await createMigratedDatabase(on);
  const database = openDatabase({
    url,
    applicationName: 'tidemark test',
    maxConnections: 10,
    statementTimeoutMs: 30_000,
  });
  await holdPolicies(database);
  return {
    database,
    url,
    close: async () => {
      await database.close();
      await drop();
    },
  };
}

/** Keeps the columnstore policies from running by themselves: tests run them. */
async function holdPolicies(database: Database): Promise<void> {
  if ((await timescaleVersion(database.pool)) === null) return;
  await database.pool.query(
    `select alter_job(job_id, scheduled => false) from timescaledb_information.jobs
     where proc_name = 'policy_compression'`,
  );
}
