/** A command's lease on the running server, held by a connection: it ends with the process, however that ends. */

import pg from 'pg';
import { codeOf, messageOf, TidemarkError } from '../errors.ts';

/** `tide` in ASCII. The lock belongs to the database `postgres`, apart from the locks of migrations in `tidemark`. */
const leaseLock = 0x74696465;

export type Lease = NonNullable<Awaited<ReturnType<typeof takeLease>>>;

/** Errors while the server is starting or stopping. A timeout is one too: a busy server takes long. */
const temporaryCodes = new Set<unknown>(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03']);

/**
 * Takes a lease on the server at `url` (its database `postgres`), and creates the database `tidemark` on first use.
 * @param whenLast stops the server; called when the last lease is released, also after a failure here.
 * @returns null while the server is starting or stopping: read its state again.
 * @throws TidemarkError EMBEDDED_DATABASE for any other reason.
 */
export async function takeLease(url: string, whenLast: () => Promise<void>) {
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
  client.on('error', () => {}); // `ended` reports it; an error event without a listener would end the process
  async function release(): Promise<void> {
    if (isOver) return; // the server has ended, and the lease with it
    try {
      // Release first, then try for the exclusive lock: of two that leave at once, the later one gets it.
      await client.query('select pg_advisory_unlock_shared($1)', [leaseLock]);
      const { rows } = await client.query<{ last: boolean }>('select pg_try_advisory_lock($1) as last', [leaseLock]);
      if (rows[0]?.last) await whenLast();
    } catch (error) {
      if (!isTemporary(error)) throw error;
    } finally {
      await client.end().catch(() => {});
    }
  }
  try {
    await client.connect();
    // Waits while the last user stops the server; the end of the server then fails the query.
    await client.query('select pg_advisory_lock_shared($1)', [leaseLock]);
    isHeld = true;
    await ensureDatabase(client);
  } catch (error) {
    // An unusable server must not be left running.
    if (isHeld) await release().catch(() => {});
    else await client.end().catch(() => {});
    if (isTemporary(error)) return null;
    throw connectionError(error);
  }
  return {
    /** Resolves when the connection ends, by `release` or with the server. */
    ended,
    /**
     * Releases the lease, if it is still held. If it is the last one, `whenLast` runs while no new one can be taken.
     */
    release,
  };
}

async function ensureDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(`select from pg_database where datname = 'tidemark'`);
  if (rowCount === 1) return;
  try {
    await client.query('create database tidemark');
  } catch (error) {
    const code = codeOf(error);
    if (code !== '42P04' && code !== '23505') throw error; // another command has just created it
  }
}

function isTemporary(error: unknown): boolean {
  return (
    temporaryCodes.has(codeOf(error)) ||
    (error instanceof Error && /^Connection terminated|^timeout expired|is not queryable$/.test(error.message))
  );
}

function connectionError(error: unknown): TidemarkError {
  const code = codeOf(error);
  const message = messageOf(error);
  if (code === '53100') return new TidemarkError('DATABASE_FULL', message, { cause: error });
  return new TidemarkError('EMBEDDED_DATABASE', `PostgreSQL refused the connection: ${message}`, {
    cause: error,
    ...(code === '28P01' ? { remedy: 'the file `password` does not belong to this database: restore it' } : {}),
  });
}
