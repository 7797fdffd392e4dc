import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../store/db/database.ts';
import { waitFor, waitForLock } from '../../parts/wait-for.ts';
import { useStore } from '../open-store.ts';

const store = useStore('plain');

it('repeats a single statement that the server ended as a deadlock', async () => {
  // The reader's session looks for a deadlock, the other one does not: so the reader is ended.
  const reader = openDatabase({
    ...{ url: store.url, applicationName: 'reader', maxConnections: 1, statementTimeoutMs: 60_000 },
    settings: ['deadlock_timeout=3s'],
  });
  onTestFinished(() => reader.close());
  const other = new pg.Client({ connectionString: store.url });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query("set deadlock_timeout = '10min'");
  await store.database.pool.query('create table one (value int); create table two (value int)');
  const deadlocks = async () => {
    const { rows } = await store.database.pool.query<{ deadlocks: number }>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    );
    return rows[0]?.deadlocks ?? 0;
  };
  const before = await deadlocks();

  await other.query('begin');
  await other.query('lock table two in access exclusive mode');
  const reading = reader.pool.query('select count(*) from one, two');
  await waitForLock(store.database.pool);
  await other.query('lock table one in access exclusive mode');
  await other.query('insert into one values (1); insert into two values (2); commit');
  expect((await reading).rows).toEqual([{ count: 1 }]);
  // The server counts it a while later.
  await waitFor('a deadlock', async () => (await deadlocks()) === before + 1);
});
