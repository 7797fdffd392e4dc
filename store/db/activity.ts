/** Sessions of this database: commands that write, and statements that wait for a lock. */

import type { Database } from './database.ts';
import { int4, listOf, type RowOf, statement, text } from './statement.ts';

/** Commands that write, by their name in pg_stat_activity. */
const writers = 'run scheduler worker backfill verify repair import move apply demo serve'.split(' ');

/** Names of the connected commands that write, once each: `run`, `worker`. Every role can see them. */
export async function listWriters(database: Database): Promise<string[]> {
  const rows = await connected.on(database.pool, { names: writers.map((command) => `tidemark ${command}`) });
  return rows.map(({ command }) => command);
}

const connected = statement({
  name: 'connected-writers',
  text: `select distinct substr(application_name, length('tidemark ') + 1) as command
         from pg_stat_activity
         where datname = current_database() and application_name = any ($names)
         order by command`,
  parameters: { names: listOf(text) },
  row: { command: text },
});

export type LockWaits = RowOf<typeof readLockWaits.row>;

/** Commits wait for each other briefly all the time: only longer waits count. */
const longMs = 500;

/** `holders` are the sessions that hold the locks: process id and application name, such as `4711 psql`. */
export const readLockWaits = statement({
  name: 'lock-waits',
  text: `
     with waiting as materialized (
       select pid, pg_blocking_pids(pid) as blockers from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and application_name like 'tidemark %'
         and state_change < clock_timestamp() - interval '${longMs} ms'
     )
     select (select count(*) from waiting)::int as statements,
            coalesce((select array_agg(distinct h.pid || coalesce(nullif(' ' || h.application_name, ' '), '')
                                       order by h.pid || coalesce(nullif(' ' || h.application_name, ' '), ''))
                      from waiting w join pg_stat_activity h on h.pid = any (w.blockers)
                      where h.pid not in (select pid from waiting)), '{}') as holders`,
  row: { statements: int4, holders: listOf(text) },
});
