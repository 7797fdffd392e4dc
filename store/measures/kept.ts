/** What is kept beside points, and how large all of it is. */

import type { Database } from '../database.ts';

/** Rows in quarantine, by dataset. */
export async function measureQuarantine(
  database: Database,
): Promise<ReadonlyArray<{ dataset: string; rows: number }>> {
  const result = await database.pool.query<{ dataset: string; rows: number }>({
    name: 'measure-quarantine',
    text: 'select dataset, count(*) as rows from tidemark.quarantine group by dataset order by dataset',
  });
  return result.rows;
}

/** Bytes of the database on disk. Looks at each of its files, of which many chunks have many. */
export async function databaseBytes(database: Database): Promise<number> {
  const result = await database.pool.query<{ bytes: number }>(
    'select pg_database_size(current_database()) as bytes',
  );
  return result.rows[0]?.bytes ?? 0;
}
