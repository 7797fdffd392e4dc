/**
 * Turns JIT compilation off for sessions of the migrating role in this database, such as a psql of its owner. The view
 * `candles` plans every level of the rollups: compiling that takes longer than most queries. Tidemark's own sessions and
 * its viewers have it off by themselves.
 */

import type pg from 'pg';
import { inLockedTransaction } from './locked-transaction.ts';

/** Settings of the role in this database, as rows `name=value`. */
const ownSettings = `
  select setting from pg_db_role_setting s, unnest(s.setconfig) setting
  where s.setrole = (select oid from pg_roles where rolname = current_user)
    and s.setdatabase = (select oid from pg_database where datname = current_database())`;

/** Leaves a setting of `jit` for this role and database as it is. */
export async function turnJitOff(client: pg.ClientBase): Promise<void> {
  await changeJit(
    client,
    `current_setting('jit')::boolean and not exists (${ownSettings} and setting like 'jit=%')`,
    'set jit = off',
  );
}

/** Undoes {@link turnJitOff}. */
export async function restoreJit(client: pg.ClientBase): Promise<void> {
  await changeJit(client, `exists (${ownSettings} and setting = 'jit=off')`, 'reset jit');
}

async function changeJit(client: pg.ClientBase, condition: string, change: string): Promise<void> {
  await inLockedTransaction(client, 'jit', async () => {
    const result = await client.query<{ statement: string }>(
      `select format('alter role %I in database %I ${change}', current_user, current_database()) as statement
       where ${condition}`,
    );
    for (const { statement } of result.rows) await client.query(statement);
  });
}
