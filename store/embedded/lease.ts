/** A command's claim on the running server, held by a connection: it vanishes with the process, however that ends. */

import pg from 'pg';
import { TidemarkError } from '../../errors.ts';

/** `tide` in ASCII. The lock lives in the database `postgres`, apart from what migrations may lock in `tidemark`. */
const leaseLock = 0x74696465;

export interface Lease {
  /** Settles when the connection ends, by `giveUp` or by the server's end. */
  readonly ended: Promise<void>;
  /** Gives the claim up, if it is still held. When nobody else holds one, `whenLast` runs while no new one can be taken. */
  giveUp(): Promise<void>;
}

/** What a client meets while the server is not there yet, or not any more. */
const passingCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03']);

/**
 * Claims the server at `url` (its database `postgres`), and makes the database `tidemark` there on the first use.
 * @param whenLast stops the server; called when a claim is given up and no other is left, by a failure here too.
 * @returns null when the server is on its way up or down: look at its state again.
 * @throws TidemarkError EMBEDDED_DATABASE for any other reason.
 */
export async function takeLease(url: string, whenLast: () => Promise<void>): Promise<Lease | null> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tidemark lease',
    connectionTimeoutMillis: 30_000,
  });
  let isHeld = false;
  let isOver = false;
  const ended = new Promise<void>((resolve) => {
    client.once('end', () => {
      isOver = true;
      resolve();
    });
  });
  client.on('error', () => {}); // `ended` tells; an error event without a listener would end the process
  async function giveUp(): Promise<void> {
    if (isOver) return; // the server has ended, and the claim with it
    try {
      // First own out, then try for all: of two that leave at once, the one that tries later gains the lock.
      await client.query('select pg_advisory_unlock_shared($1)', [leaseLock]);
      const { rows } = await client.query<{ last: boolean }>('select pg_try_advisory_lock($1) as last', [
        leaseLock,
      ]);
      if (rows[0]?.last) await whenLast();
    } catch (error) {
      if (!isPassing(error)) throw error;
    } finally {
      await client.end().catch(() => {});
    }
  }
  try {
    await client.connect();
    // Waits while the last user of the server stops it; the server's end then fails the query.
    await client.query('select pg_advisory_lock_shared($1)', [leaseLock]);
    isHeld = true;
    await ensureDatabase(client);
  } catch (error) {
    // What cannot be used must not be left running either.
    if (isHeld) await giveUp().catch(() => {});
    else await client.end().catch(() => {});
    if (isPassing(error)) return null;
    throw refusal(error);
  }
  return { ended, giveUp };
}

async function ensureDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(`select from pg_database where datname = 'tidemark'`);
  if (rowCount === 1) return;
  try {
    await client.query('create database tidemark');
  } catch (error) {
    const code = codeOf(error);
    if (code !== '42P04' && code !== '23505') throw error; // another command has just made it
  }
}

function isPassing(error: unknown): boolean {
  return (
    passingCodes.has(codeOf(error)) ||
    (error instanceof Error && /^Connection terminated/.test(error.message))
  );
}

function refusal(error: unknown): TidemarkError {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === '53100') return new TidemarkError('DATABASE_FULL', message, { cause: error });
  return new TidemarkError('EMBEDDED_DATABASE', `PostgreSQL refused the connection: ${message}`, {
    cause: error,
    ...(code === '28P01'
      ? { remedy: 'the file `password` is not the one that this database was made with: restore it' }
      : {}),
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
