/**
 * The role that the service works as: it reads what is served, and nothing else.
 *
 * `migrate` makes it where it may, and gives it its rights anew each time, because views and rollups can have been made
 * anew. Roles belong to the whole server, their rights to one database: all databases of a server share it. It cannot
 * log in; a connection of the owner's takes it on, and never puts it down.
 */

import type pg from 'pg';
import { rollupLevels } from './derived/levels.ts';
import { isRightMissing } from './failure.ts';

export const readerRole = 'tidemark_reader';

/** What is served is read from these. Keys, the ledger and settings are not among them. */
const served = [
  ...['series', 'candle_points', 'asset_history_points', 'rate_points', 'currencies', 'derived_series'],
  ...['lists', 'listed_markets'],
  ...rollupLevels.map(({ interval }) => `rollup_${interval}`),
].map((name) => `tidemark.${name}`);
const views = ['assets', 'exchanges', 'markets', 'asset_markets', 'latest_rates'].map(
  (name) => `public.${name}`,
);
const functions = [
  'tidemark.key_of(bytea)',
  'tidemark.admit_request(text,integer,bigint)',
  'tidemark.ask_for_key(text,text,text,text)',
];

/** Of the advisory lock that keeps two migrations from granting at once, which PostgreSQL refuses. */
const lockKey = 7_241_865_325_823_967n;

/**
 * Makes the role and gives it its rights in this database, where it has them not.
 *
 * @returns whether there is such a role: a migrating role may lack the right to make one.
 */
export async function grantReader(client: pg.ClientBase): Promise<boolean> {
  if (!(await makeRole(client))) return false;
  if (await hasRights(client)) return true;
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1)', [lockKey]);
    await client.query(`grant usage on schema tidemark to ${readerRole}`);
    await client.query(`grant select on ${[...served, ...views].join(', ')} to ${readerRole}`);
    await client.query(`grant execute on function ${functions.join(', ')} to ${readerRole}`);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
  if (await mayBecomeReader(client)) return true;
  await client.query(`grant ${readerRole} to current_user`).catch((error: unknown) => {
    // Who did not make the role may not take it on; the service then works as its own role.
    if (!isRightMissing(error)) throw error;
  });
  return true;
}

async function makeRole(client: pg.ClientBase): Promise<boolean> {
  if (await roleExists(client)) return true;
  try {
    await client.query(`create role ${readerRole} nologin`);
  } catch (error) {
    if (isRightMissing(error)) return false;
    // Another migration, of another database on this server, has made it at the same moment.
    if (!isAlreadyThere(error)) throw error;
  }
  return true;
}

async function hasRights(client: pg.ClientBase): Promise<boolean> {
  const result = await client.query<{ all: boolean }>(
    `select has_schema_privilege($1, 'tidemark', 'usage')
        and (select bool_and(has_table_privilege($1, name, 'select')) from unnest($2::text[]) name)
        and (select bool_and(has_function_privilege($1, name, 'execute')) from unnest($3::text[]) name) as all`,
    [readerRole, [...served, ...views], functions],
  );
  return result.rows[0]?.all === true;
}

/** Takes the role's rights in this database back. The role stays: other databases of the server may use it. */
export async function revokeReader(client: pg.ClientBase): Promise<void> {
  if (!(await roleExists(client))) return;
  const present = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) name where to_regclass(name) is not null`,
    [[...served, ...views]],
  );
  if (present.rowCount === 0) return;
  for (const { name } of present.rows) await client.query(`revoke all on ${name} from ${readerRole}`);
  await client.query(`revoke all on schema tidemark from ${readerRole}`);
}

/** Whether the connection's role may take the reader's on. */
export async function mayBecomeReader(client: pg.ClientBase | pg.Pool): Promise<boolean> {
  const result = await client.query<{ may: boolean }>(
    `select exists (
       select from pg_roles r where r.rolname = $1
         and pg_has_role(r.oid, case when current_setting('server_version_num')::integer >= 160000 then 'SET' else 'MEMBER' end)
         -- Made by another database's migration: it has no rights here.
         and has_table_privilege(r.oid, 'tidemark.series', 'select')
     ) as may`,
    [readerRole],
  );
  return result.rows[0]?.may === true;
}

async function roleExists(client: pg.ClientBase): Promise<boolean> {
  const result = await client.query('select from pg_roles where rolname = $1', [readerRole]);
  return result.rowCount === 1;
}

function isAlreadyThere(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === '42710' || code === '23505';
}
