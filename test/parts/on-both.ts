/**
 * What runs on both backends of the queue, and on both kinds of database. A behaviour is tested on one of them, but for
 * the files that are named here with the reason. The long set runs on both as well. Limits of the service are counted
 * in either server (service/stored/limits.test.ts), and both kinds of database are moved, exported and backed up.
 */

import { relative } from 'node:path';
import { expect } from 'vitest';

/** test/queue/ is the contract of both backends, and runs on both, whole. */
const onBothQueues: Readonly<Record<string, string>> = {
  'test/pipeline/backfill.test.ts': 'the way of a window from its gap to its commit, by the whole of the contract',
  'test/faults/crowd.test.ts': 'many workers claim the same jobs: the backends claim in different ways',
  'test/faults/database.test.ts': 'a queue on PostgreSQL fails together with the store, one on Redis does not',
  'test/faults/kills.test.ts': 'the jobs of a killed process come back by different means',
};

/** With and without TimescaleDB. docs/examples.test.ts runs an example of every view and function on both. */
const onBothDatabases: Readonly<Record<string, string>> = {
  'test/schema/login-roles.test.ts': 'only with TimescaleDB does a worker need functions of the owner',
  'test/docs/examples.test.ts': 'every view and function answers on both',
  'test/trials/store-and-planner.test.ts': 'commits, retention and plans, against a model',
  'test/store/commit/commit-windows.test.ts': 'chunks are made and locked before a commit on TimescaleDB alone',
  'test/store/series/delete-data.test.ts': 'rows are deleted from chunks of the columnstore, or from tables',
  'test/store/status/sizes.test.ts': 'a hypertable is measured by other functions',
  'test/store/upkeep/retention.test.ts': 'a chunk is dropped on TimescaleDB, its rows are deleted elsewhere',
  'test/store/upkeep/refresh-rollups.test.ts':
    'a rollup takes its points from chunks of the columnstore, or from a table',
  'test/schema/api/function-plans.test.ts': 'the plans of statements differ',
};

/** Whether the file that is being read runs on both of its kind. */
export function runsOnBoth(kind: 'queues' | 'databases'): boolean {
  const file = relative('.', expect.getState().testPath ?? '');
  if (file.endsWith('.soak.ts')) return true;
  return kind === 'queues' ? file.startsWith('test/queue/') || file in onBothQueues : file in onBothDatabases;
}
