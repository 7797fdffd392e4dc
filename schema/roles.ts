/**
 * The role that the service reads as. It may read what is served, and nothing else. `migrate` creates it where it may,
 * and grants its privileges again each time, because views and rollups may have been recreated. Roles belong to the
 * whole server and their privileges to one database, so all databases of a server share the reader. It cannot log in: a
 * connection of the owner, or of a role that may serve (login-roles.ts), switches to it and never switches back.
 */

import type pg from 'pg';
import { codeOf } from '../errors.ts';
import { datasets } from '../model/datasets/index.ts';
import { eachList } from '../model/lists/index.ts';
import { rollupLevels } from '../model/rollup-levels.ts';
import { isPermissionDenied } from '../store/db/failure.ts';
import { inLockedTransaction } from '../store/db/locked-transaction.ts';
import { bool, listOf, statement, text } from '../store/db/statement.ts';

export const readerRole = 'tidemark_reader';

/** The service reads from these. Keys, the ledger and settings are not among them. */
const served = [
  ...[
    'series',
    ...Object.values(datasets).map(({ table }) => table),
    'rollup_hours',
    'rollup_days',
    'rate_points',
    'currencies',
    'derived_series',
    'derived_histories',
  ],
  ...['lists', 'listed_markets'],
  ...rollupLevels.map(({ interval }) => `rollup_${interval}`),
].map((name) => `tidemark.${name}`);
/** Only some columns of it: the raw rows of the source are not served. */
const partlyServed = 'tidemark.quarantine';
const servedColumns = ['dataset', 'series_id', 'range', 'time'];
const views = eachList.map(({ views }) => `public.${views.now}`);
const functions = [
  'tidemark.key_of(bytea)',
  'tidemark.admit_request(text,integer,bigint)',
  'tidemark.ask_for_key(text,text,text,text)',
];

/**
 * Creates the reader and grants its privileges in this database, where they are missing. A migrating role may lack the
 * privilege to create it.
 */
export async function grantReader(client: pg.ClientBase): Promise<void> {
  if (!(await createReader(client))) return;
  if ((await rightsOfReader.one(client, { relations: [...served, ...views], functions })).all) return;
  await inLockedTransaction(client, 'reader role', async () => {
    await client.query(`grant usage on schema tidemark to ${readerRole}`);
    await client.query(`grant select on ${[...served, ...views].join(', ')} to ${readerRole}`);
    await client.query(`grant select (${servedColumns.join(', ')}) on ${partlyServed} to ${readerRole}`);
    await client.query(`grant execute on function ${functions.join(', ')} to ${readerRole}`);
  });
  if (await mayBecomeReader(client)) return;
  await client.query(`grant ${readerRole} to current_user`).catch((error: unknown) => {
    // Only the creator of the role may grant it. Without it the service works as its own role.
    if (!isPermissionDenied(error)) throw error;
  });
}

/** @returns whether there is one. */
async function createReader(client: pg.ClientBase): Promise<boolean> {
  if (await roleExists(client)) return true;
  try {
    await client.query(`create role ${readerRole} nologin`);
  } catch (error) {
    if (isPermissionDenied(error)) return false;
    // A migration of another database on this server has just created it.
    if (!isAlreadyThere(error)) throw error;
  }
  return true;
}

const rightsOfReader = statement({
  name: 'rights-of-reader',
  isPlannedAnew: true,
  text: `
    select has_schema_privilege('${readerRole}', 'tidemark', 'usage')
       and (select bool_and(has_table_privilege('${readerRole}', name, 'select')) from unnest($relations) name)
       and (select bool_and(has_column_privilege('${readerRole}', '${partlyServed}', name, 'select'))
            from unnest('{${servedColumns.join(',')}}'::text[]) name)
       and (select bool_and(has_function_privilege('${readerRole}', name, 'execute')) from unnest($functions) name)
       as all`,
  parameters: { relations: listOf(text), functions: listOf(text) },
  row: { all: bool },
});

/** Revokes the reader's privileges in this database. The role stays: other databases of the server may use it. */
export async function revokeReader(client: pg.ClientBase): Promise<void> {
  if (!(await roleExists(client))) return;
  const present = await relationsAmong.on(client, { names: [...served, ...views, partlyServed] });
  if (present.length === 0) return;
  for (const { name } of present) await client.query(`revoke all on ${name} from ${readerRole}`);
  await client.query(`revoke all on schema tidemark from ${readerRole}`);
}

const relationsAmong = statement({
  name: 'relations-among-names',
  isPlannedAnew: true,
  text: 'select name from unnest($names) name where to_regclass(name) is not null',
  parameters: { names: listOf(text) },
  row: { name: text },
});

/** Whether the connection's role may switch to the reader. */
export async function mayBecomeReader(client: pg.ClientBase | pg.Pool): Promise<boolean> {
  return (await becomesReader.one(client, {})).may;
}

const becomesReader = statement({
  name: 'may-become-reader',
  isPlannedAnew: true,
  text: `
     select exists (
       select from pg_roles r where r.rolname = '${readerRole}'
         and pg_has_role(r.oid, case when current_setting('server_version_num')::integer >= 160000 then 'SET'
                                     else 'MEMBER' end)
         -- A role without it was created by another database's migration.
         and has_table_privilege(r.oid, 'tidemark.series', 'select')
     ) as may`,
  row: { may: bool },
});

async function roleExists(client: pg.ClientBase): Promise<boolean> {
  const result = await client.query('select from pg_roles where rolname = $1', [readerRole]);
  return result.rowCount === 1;
}

export function isAlreadyThere(error: unknown): boolean {
  return ['42710', '23505'].includes(String(codeOf(error)));
}
