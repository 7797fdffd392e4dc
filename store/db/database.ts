/** The connection pool that every query of the store goes through. */

import pg from 'pg';
import { type Clock, systemClock } from '../../clock.ts';
import { codeOf, errorOf } from '../../errors.ts';
import { internals, isQueryTimeout } from './pg-internals.ts';
import { plannerSettings } from './planner-settings.ts';
import { leaveRoom } from './spare-connections.ts';
import { types } from './values.ts';

export interface Database {
  readonly pool: pg.Pool;
  readonly url: string;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly maxConnections: number;
  readonly statementTimeoutMs: number;
  /** How much longer than the statement timeout the client waits for an answer; 5 s by default. */
  readonly timeoutMarginMs?: number;
  /** How long the server may take for a connection; 10 s by default. */
  readonly connectTimeoutMs?: number | undefined;
  /** Settings of each session besides the time zone, as `name=value` without spaces. */
  readonly settings?: readonly string[];
  /** How it waits for a connection on a server that has none left; absent: its queries fail. */
  readonly wait?: { readonly clock: Clock; readonly onWait: (error: Error) => void };
  /** Called when an idle connection breaks; the pool replaces it. Not called once the pool is closed. */
  readonly onIdleError?: (cause: string) => void;
}

/** A server that does not take a connection for this long is gone. */
export const connectTimeoutMs = 10_000;
/** The embedded server runs as long as it has users: one that takes no connection is busy. */
export const embeddedConnectTimeoutMs = 120_000;
/** A server that stays silent for this long after the statement timeout is gone, and not just busy. */
const defaultTimeoutMarginMs = 5000;
/**
 * A lock wait lasts at most this long, and at most a quarter of the statement timeout: a row is waited for
 * twice, for the place in line and for the holder. So a lock wait fails as one (55P03), and not as a timeout.
 */
const maxLockWaitMs = 5000;
/** Interval of keep-alive packets, for idle connections and queries without a timeout. */
const keepAliveMs = 10_000;
const plannerOptions = plannerSettings.map(({ name, value }) => `${name}=${value}`);

/**
 * Opens a pool. It connects at the first query.
 *
 * A server that dies silently, or behind a network that drops packets, leaves connections that look intact. A
 * query without an answer in time fails, and its connection is closed. Idle connections are closed too,
 * because each would have to time out in its turn.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const answerTimeoutMs = options.statementTimeoutMs + (options.timeoutMarginMs ?? defaultTimeoutMarginMs);
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs ?? connectTimeoutMs,
    // A new connection loads the catalogue again, which costs the server as much as several windows.
    idleTimeoutMillis: 60_000,
    statement_timeout: options.statementTimeoutMs,
    lock_timeout: Math.min(maxLockWaitMs, Math.floor(options.statementTimeoutMs / 4)),
    query_timeout: answerTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    options: ['timezone=UTC', 'datestyle=ISO', ...plannerOptions, ...(options.settings ?? [])]
      .map((setting) => `-c ${setting}`)
      .join(' '),
    types,
  });
  repeatDeadlocked(pool);
  leaveRoom(pool, options.wait?.clock ?? systemClock, options.wait?.onWait);
  pool.on('error', ({ message }) => {
    // A closed pool does not wait until the server has read that its connections end, and the embedded server stops
    // next. The error itself holds the client, with its settings and SQL.
    if (!pool.ending) options.onIdleError?.(message);
  });
  // The pool listens to idle clients only. Without this listener, a client that loses its connection between
  // two queries, or during a COPY, would end the process. Its next query fails and reports it.
  pool.on('connect', (client) => client.on('error', () => {}));
  const resting = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => {
    resting.delete(client);
    internals(client).connectionParameters.query_timeout = answerTimeoutMs;
  });
  pool.on('remove', (client) => resting.delete(client));
  pool.on('release', (error, client) => {
    if (!isQueryTimeout(error)) resting.add(client);
    else for (const other of resting) internals(other).connection.stream.destroy(error);
  });
  return { pool, url: options.url, close: () => pool.end() };
}

/** Of one statement. Each comes after a second at least, PostgreSQL's `deadlock_timeout`. */
const maxDeadlocks = 3;

/**
 * Repeats a single statement that the server ended as a deadlock: it changed nothing. A chunk that moves to the
 * columnstore locks tables in another order than a query, and the server ends either of them.
 */
function repeatDeadlocked(pool: pg.Pool): void {
  const query = pool.query.bind(pool) as (...words: unknown[]) => Promise<unknown>;
  async function repeated(...words: unknown[]): Promise<unknown> {
    for (let deadlocks = 0; ; deadlocks += 1) {
      try {
        return await query(...words);
      } catch (error) {
        if (codeOf(error) !== deadlockCode || deadlocks === maxDeadlocks) throw error;
      }
    }
  }
  Object.assign(pool, { query: repeated });
}

/** Runs `work` in one transaction on one connection. */
export async function inTransaction<Result>(
  database: Database,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await database.pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await commitTransaction(client);
    return result;
  } catch (error) {
    broken = errorOf(error);
    // A connection that cannot even roll back is not reused. One that timed out is not asked to.
    if (!isQueryTimeout(error)) {
      await client.query('rollback').then(
        () => {
          broken = undefined;
        },
        () => {},
      );
    }
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * Commits. After a failed statement, even one whose error was caught, the server answers COMMIT with ROLLBACK
 * and no error: nothing was stored.
 *
 * @throws when nothing was committed.
 */
export async function commitTransaction(client: pg.ClientBase): Promise<void> {
  const { command } = await client.query('commit');
  if (command !== 'COMMIT')
    throw new Error(`the server answered COMMIT with ${command}: a statement failed earlier in the transaction`);
}

/**
 * Removes the timeouts of a transaction's statements and lock waits, for commands that a user waits for. Only
 * a broken connection ends them then. See also {@link allowLong}.
 */
export async function disableTimeouts(client: pg.PoolClient): Promise<void> {
  await client.query('set local statement_timeout = 0; set local lock_timeout = 0');
  internals(client).connectionParameters.query_timeout = 0;
}

const inFailedTransaction = '25P02';
/** Limit for background work. Only a defect reaches it. */
const maxStatementMs = 6 * 3_600_000;

/**
 * Lets the statements of a connection take hours, and cancels them when the signal aborts. The lock timeout stays.
 *
 * @returns restores the timeouts; call it before the connection goes back to the pool.
 */
export async function allowLong(
  database: Database,
  client: pg.PoolClient,
  signal: AbortSignal | undefined,
): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  await client.query(`set statement_timeout = ${maxStatementMs}`);
  internals(client).connectionParameters.query_timeout = maxStatementMs + defaultTimeoutMarginMs;
  let cancelled: Promise<unknown> = Promise.resolve();
  const cancel = () => {
    cancelled = database.pool.query('select pg_cancel_backend($1)', [rows[0]?.pid]).catch(() => {});
  };
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel);
  return async () => {
    signal?.removeEventListener('abort', cancel);
    await cancelled;
    // In a failed transaction the setting is rolled back with it. Otherwise it was a late cancel, which hits only once.
    await client
      .query('reset statement_timeout')
      .catch((error: unknown) =>
        codeOf(error) === inFailedTransaction ? undefined : client.query('reset statement_timeout'),
      );
  };
}

/** Runs `work` on one connection, whose statements may take hours until the signal aborts. */
export async function onLongConnection(
  database: Database,
  signal: AbortSignal | undefined,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const client = await database.pool.connect();
  let broken: Error | undefined;
  let end = async () => {};
  try {
    end = await allowLong(database, client, signal);
    await work(client);
  } catch (error) {
    broken = errorOf(error);
    throw error;
  } finally {
    await end().catch((error: Error) => {
      broken ??= error;
    });
    // A late cancel would hit the connection's next user.
    if (signal?.aborted) broken ??= new Error('stopped');
    client.release(broken);
  }
}

const deadlockCode = '40P01';
/** Lock timeout, and deadlock. */
const lockWaitCodes: readonly unknown[] = ['55P03', deadlockCode];

/** Whether another session's lock was in the way. */
export function isLockWait(error: unknown): boolean {
  return lockWaitCodes.includes(codeOf(error));
}
