/** Who works on this database now. */

import type { Database } from './database.ts';

/** Commands that write, as they call themselves in pg_stat_activity. */
const writers = [
  'run',
  'scheduler',
  'worker',
  'backfill',
  'verify',
  'repair',
  'import',
  'move',
  'apply',
  'demo',
  'serve',
];

/** The commands that are connected to the database to work on it, once each: `run`, `worker`. Every role sees them. */
export async function writersPresent(database: Database): Promise<string[]> {
  const result = await database.pool.query<{ command: string }>(
    `select distinct substr(application_name, length('tidemark ') + 1) as command
     from pg_stat_activity
     where datname = current_database() and application_name = any ($1)
     order by command`,
    [writers.map((command) => `tidemark ${command}`)],
  );
  return result.rows.map((row) => row.command);
}
