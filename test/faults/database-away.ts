/** Ways in which a backfill loses its database for a while. */

import { onTestFinished, type TestContext } from 'vitest';
import { migrate } from '../../schema/migrate.ts';
import { type Database, openDatabase } from '../../store/db/database.ts';
import { type OwnCluster, ownCluster } from '../parts/own-cluster.ts';
import { waitFor } from '../parts/wait-for.ts';
import { type CuttableProxy, proxyTo } from '../queue/cuttable-proxy.ts';
import { openOwnStore } from '../store/open-store.ts';

export function databaseAt(url: string, statementTimeoutMs = 30_000): Database {
  const database = openDatabase({ url, applicationName: 'tidemark test', maxConnections: 10, statementTimeoutMs });
  onTestFinished(() => database.close());
  return database;
}

export async function storeToCrash(context: TestContext): Promise<{ cluster: OwnCluster; database: Database }> {
  const cluster = await ownCluster(context);
  await migrate({ url: cluster.url, direction: 'up', ifBusy: 'wait' });
  return { cluster, database: databaseAt(cluster.url) };
}

/** A migrated store behind a proxy, and a direct connection to it that is never cut. */
export async function storeToCut(): Promise<{ proxy: CuttableProxy; database: Database; beside: Database }> {
  const store = await openOwnStore();
  const proxy = await proxyTo(store.url);
  return { proxy, database: databaseAt(proxy.url), beside: store.database };
}

/** Terminates this share of the other sessions in the database, at least one. @returns their number. */
export async function terminateSome(database: Database, share: number): Promise<number> {
  const { rows } = await database.pool.query<{ ended: number }>(
    `select count(*) filter (where pg_terminate_backend(pid)) as ended from (
       select pid, row_number() over (order by random()) as place, count(*) over () as others from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
     ) sessions
     where place <= greatest(1, others * $1::double precision)`,
    [share],
  );
  return rows[0]?.ended ?? 0;
}

export async function untilItAnswers(database: Database): Promise<void> {
  const answers = () =>
    database.pool.query('select').then(
      () => true,
      () => false,
    );
  await waitFor('an answer of the database', answers);
}
