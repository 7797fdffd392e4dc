/** Transactions of `migrate` that only one process runs at a time. */

import type pg from 'pg';
import { TidemarkError } from '../../errors.ts';
import { commitTransaction, isLockWait } from './database.ts';

/** Advisory locks, one for each step. */
const lockKeys = {
  /** As node-pg-migrate takes it for earlier versions. */
  migration: 7_241_865_325_823_964n,
  'reader role': 7_241_865_325_823_967n,
  'public functions': 7_241_865_325_823_969n,
  'role settings': 7_241_865_325_823_970n,
  'login roles': 7_241_865_325_823_971n,
} as const;

/** Any role can take an advisory lock, so no wait for one is unlimited. */
const maxWaitMs = 60_000;

/**
 * Runs `work` in a transaction. Another process with the same step waits until its end.
 *
 * @throws TidemarkError MIGRATION_RUNNING when another session holds the lock for longer than `waitMs`.
 */
export async function inLockedTransaction<Result>(
  client: pg.ClientBase,
  step: keyof typeof lockKeys,
  work: () => Promise<Result>,
  waitMs = maxWaitMs,
): Promise<Result> {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${waitMs}`);
    await client.query('select pg_advisory_xact_lock($1)', [lockKeys[step]]).catch(async (error: unknown) => {
      if (!isLockWait(error)) throw error;
      await client.query('rollback');
      throw new TidemarkError('MIGRATION_RUNNING', `${await describeHolder(client, step)} holds its lock`, {
        cause: error,
      });
    });
    await client.query('set local lock_timeout to default');
    const result = await work();
    await commitTransaction(client);
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

async function describeHolder(client: pg.ClientBase, step: keyof typeof lockKeys): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `select format('session %s of role %s (%s)', l.pid, a.usename, a.application_name) as holder
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.database = a.datid and a.datname = current_database()
       and (l.classid::bigint << 32) + l.objid::bigint = $1`,
    [lockKeys[step]],
  );
  return rows[0]?.holder ?? 'another session';
}
