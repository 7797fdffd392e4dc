/**
 * Stops commits within their transaction, after the points and before the coverage. The first window's row of the
 * ledger waits for one lock, and the second's for another, which only a transaction of several windows reaches.
 */

import { onTestFinished } from 'vitest';
import type { Database } from '../../store/db/database.ts';
import { waitFor } from '../parts/wait-for.ts';

const anyCommit = 1;
const groupOnly = 2;

export interface HeldCommits {
  /** Lets transactions of one window continue. Those of several windows reach their second window. */
  releaseSingles(): Promise<void>;
  releaseGroups(): Promise<void>;
  waitForAny(): Promise<void>;
  waitForGroup(): Promise<void>;
  terminateGroups(): Promise<void>;
}

/** Stops every commit from now on, until it is released or the test has finished. */
export async function holdCommits(database: Database): Promise<HeldCommits> {
  const { pool } = database;
  await pool.query(`
    create function hold_commit() returns trigger language plpgsql as $$
    declare
      place int := coalesce(nullif(current_setting('test.place', true), ''), '0')::int + 1;
    begin
      perform set_config('test.place', place::text, true);
      -- This must look like a long commit, and not like a lock of another session.
      perform set_config('lock_timeout', '0', true);
      if place <= ${groupOnly} then perform pg_advisory_xact_lock_shared(place); end if;
      return new;
    end $$;
    create trigger hold_commit before insert on tidemark.fetches for each row execute function hold_commit()`);
  const holder = await pool.connect();
  onTestFinished(() => holder.release(true));
  for (const key of [anyCommit, groupOnly]) await holder.query('select pg_advisory_lock($1)', [key]);

  async function waiting(key: number): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*) from pg_locks where locktype = 'advisory' and not granted and objid = $1
       and database = (select oid from pg_database where datname = current_database())`,
      [key],
    );
    return rows[0]?.count ?? 0;
  }
  const release = async (key: number) => {
    await holder.query('select pg_advisory_unlock($1)', [key]);
  };
  return {
    releaseSingles: () => release(anyCommit),
    releaseGroups: () => release(groupOnly),
    waitForAny: () => waitFor('a commit that stands still', async () => (await waiting(anyCommit)) > 0),
    waitForGroup: () =>
      waitFor('a group that stands still', async () => (await waiting(groupOnly)) > 0, { everyMs: 5 }),
    async terminateGroups() {
      await pool.query(
        `select pg_terminate_backend(pid) from pg_locks
         where locktype = 'advisory' and not granted and objid = $1
           and database = (select oid from pg_database where datname = current_database())`,
        [groupOnly],
      );
    },
  };
}
