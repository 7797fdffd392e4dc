/** One side of a move: a connection to its database in a transaction. Its errors name the side. */

import type pg from 'pg';
import { codeOf, type ErrorCode, TidemarkError } from '../../errors.ts';
import { commitTransaction, type Database, disableTimeouts } from '../../store/db/database.ts';
import { createRemedy, explainDatabaseError } from '../../store/db/failure.ts';
import { backendPid } from '../../store/db/statement.ts';

export type SideName = 'source' | 'target';

export interface Side {
  readonly client: pg.PoolClient;
  /** Runs queries, and explains their errors. */
  ask<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result>;
  /** Cancels the running query. */
  cancel(): void;
  commit(): Promise<void>;
  /** Closes the connection: the server rolls back. */
  abandon(): void;
}

/** Both sides must write the same value as the same text, which is copied and compared. */
const settings = [
  'set local idle_in_transaction_session_timeout = 0',
  "set local timezone = 'UTC'",
  "set local datestyle = 'ISO'",
  "set local intervalstyle = 'postgres'",
  "set local bytea_output = 'hex'",
  // A lock that is held longer means that a session works on the table.
  "set local lock_timeout = '10s'",
].join('; ');

/** @throws TidemarkError as {@link sideError} */
export async function openSide(database: Database, name: SideName): Promise<Side> {
  const client = await database.pool.connect().catch((error: unknown) => {
    throw sideError(error, name);
  });
  let pid: number | undefined;
  try {
    // The snapshot is taken after the tables are locked, so it shows every committed row.
    await client.query(`begin isolation level ${name === 'source' ? 'repeatable read, read only' : 'read committed'}`);
    await disableTimeouts(client);
    await client.query(settings);
    pid = (await backendPid.one(client, {})).pid;
  } catch (error) {
    client.release(true);
    throw sideError(error, name);
  }
  let isOver = false;
  const release = (isBroken: boolean) => {
    if (!isOver) client.release(isBroken);
    isOver = true;
  };
  const ask: Side['ask'] = async (work) => {
    try {
      return await work(client);
    } catch (error) {
      throw sideError(error, name);
    }
  };
  return {
    client,
    ask,
    cancel: () => void database.pool.query('select pg_cancel_backend($1)', [pid]).catch(() => {}),
    async commit() {
      await ask(commitTransaction);
      release(false);
    },
    abandon: () => release(true),
  };
}

/** Remedies for the target, where they differ from the table of errors: the move has left nothing in it. */
const targetRemedies: Partial<Record<ErrorCode, string>> = {
  DATABASE_UNREACHABLE: 'check the address after --to, and that its server runs; nothing was moved',
  DATABASE_FULL: 'free disk space there, and run the same command again; nothing was moved',
  DATABASE_NOT_MIGRATED: 'run `tidemark migrate` with the address after --to as DATABASE_URL',
};

/** Lock timeout, and a full lock table. */
const lockedCode = '55P03';
const noLocksCode = '53200';

/** Returns the error with a code and a remedy where its cause is known; one of the target says so. */
export function sideError(error: unknown, name: SideName): unknown {
  const where = name === 'target' ? 'the target: ' : '';
  const code = codeOf(error);
  if (code === lockedCode) {
    return new TidemarkError('DATABASE_IN_USE', `${where}something works on its tables`, { cause: error });
  }
  if (code === noLocksCode && error instanceof Error) {
    return new TidemarkError('DATABASE_REFUSED', `${where}${error.message}`, {
      cause: error,
      remedy: 'raise max_locks_per_transaction of that server: a transaction holds a lock on each chunk',
    });
  }
  const explained = explainDatabaseError(error);
  if (name === 'source' || !(explained instanceof TidemarkError) || explained.message.startsWith(where))
    return explained;
  return new TidemarkError(explained.code, `${where}${explained.message}`, {
    cause: error,
    remedy: createRemedy(code, explained.message) ?? targetRemedies[explained.code] ?? explained.remedy,
  });
}
