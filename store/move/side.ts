/** One of the two databases of a move: a connection in a transaction of its own, whose errors say which side they are of. */

import type pg from 'pg';
import { type ErrorCode, TidemarkError } from '../../errors.ts';
import { type Database, takeAnyTime } from '../database.ts';
import { explainDatabaseError } from '../failure.ts';

export type SideName = 'source' | 'target';

export interface Side {
  readonly client: pg.PoolClient;
  /** Runs what asks the server, and throws what its failure means. */
  ask<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result>;
  /** Ends whatever the server is doing for this side. */
  cancel(): void;
  commit(): Promise<void>;
  /** Closes the connection, wherever it stands: the server rolls back. */
  abandon(): void;
}

/** Both sides write the same value as the same text: that is what is copied, and what is compared. */
const settings = [
  'set local idle_in_transaction_session_timeout = 0',
  "set local timezone = 'UTC'",
  "set local datestyle = 'ISO'",
  "set local intervalstyle = 'postgres'",
  "set local bytea_output = 'hex'",
  // Who holds a table longer than this works on it.
  "set local lock_timeout = '10s'",
].join('; ');

/** @throws TidemarkError as {@link sideError} */
export async function openSide(database: Database, name: SideName): Promise<Side> {
  const client = await database.pool.connect().catch((error: unknown) => {
    throw sideError(error, name);
  });
  try {
    // What the source shows is what it holds once its tables are locked: a snapshot is taken after that.
    await client.query(
      `begin isolation level ${name === 'source' ? 'repeatable read, read only' : 'read committed'}`,
    );
    await takeAnyTime(client, 'transaction');
    await client.query(settings);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const pid = rows[0]?.pid;
    return sideOf(database, client, name, pid);
  } catch (error) {
    client.release(true);
    throw sideError(error, name);
  }
}

function sideOf(database: Database, client: pg.PoolClient, name: SideName, pid: number | undefined): Side {
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
      await ask((connected) => connected.query('commit'));
      release(false);
    },
    abandon: () => release(true),
  };
}

/** What to do about the target where it is not what the table of errors says: the move has left nothing in it. */
const targetRemedies: Partial<Record<ErrorCode, string>> = {
  DATABASE_UNREACHABLE: 'check the address after --to, and that its server runs; nothing was moved',
  DATABASE_FULL: 'free disk space there, and run the same command again; nothing was moved',
  DATABASE_NOT_MIGRATED: 'run `tidemark migrate` with the address after --to as DATABASE_URL',
};

/** A lock that was not given in time, and a table of locks that is full. */
const lockedCode = '55P03';
const noLocksCode = '53200';

/** The error as one with a code and a remedy where it has a known cause; one of the target says so. */
export function sideError(error: unknown, name: SideName): unknown {
  const where = name === 'target' ? 'the target: ' : '';
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
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
    remedy: targetRemedies[explained.code] ?? explained.remedy,
  });
}
