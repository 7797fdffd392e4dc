/** The pool of connections that every query of the store goes through. */

import type { Socket } from 'node:net';
import pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';

export interface Database {
  readonly pool: pg.Pool;
  readonly url: string;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections: number;
  readonly statementTimeoutMs: number;
  /** How much longer than a statement may take its answer is waited for; 5 s unless given. */
  readonly silenceMs?: number;
  /** Settings of each session beside the time zone, as `name=value` without spaces. */
  readonly settings?: readonly string[];
  /** Called when an idle connection breaks; the pool replaces it. */
  readonly onIdleError?: (error: Error) => void;
}

/**
 * A server ends a statement that takes too long by itself. One that says nothing for so long after that is gone: time
 * enough for a busy process, or a slow network, to pass on what was said.
 */
const usualSilenceMs = 5000;
/** What is silent without a question under way, or with one that may take any time, is looked after every so often. */
const keepAliveMs = 10_000;

// What queries return: NUMERIC stays text (node-postgres' default), timestamps and counts become numbers.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTimestamp);

/**
 * Opens a pool. No connection is made before the first query.
 *
 * A server that dies without a word, or behind a network that drops what is sent, leaves connections that look whole.
 * A query whose answer does not come in time is given up, and its connection with it; those that rest go too, because
 * each would be waited for in its turn.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const answerTimeoutMs = options.statementTimeoutMs + (options.silenceMs ?? usualSilenceMs);
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: 10_000,
    // A new connection learns the catalogue anew, which costs the server as much as several windows.
    idleTimeoutMillis: 60_000,
    statement_timeout: options.statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    options: ['timezone=UTC', 'datestyle=ISO', ...(options.settings ?? [])]
      .map((setting) => `-c ${setting}`)
      .join(' '),
    types,
  });
  pool.on('error', (error) => options.onIdleError?.(error));
  // The pool listens to idle clients only. One that is in use and loses its connection between two queries, or in a
  // COPY, would end the process; its next query fails and tells.
  pool.on('connect', (client) => client.on('error', () => {}));
  const resting = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => {
    resting.delete(client);
    innards(client).connectionParameters.query_timeout = answerTimeoutMs;
  });
  pool.on('remove', (client) => resting.delete(client));
  pool.on('release', (error, client) => {
    if (!isSilence(error)) resting.add(client);
    else for (const other of resting) innards(other).connection.stream.destroy(error);
  });
  return { pool, url: options.url, close: () => pool.end() };
}

/** Runs `work` in one transaction on one connection: all of it is stored, or nothing. */
export async function inTransaction<Result>(
  database: Database,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await database.pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    broken = error instanceof Error ? error : new Error(String(error));
    // A connection that cannot even roll back is not given back to the pool. A silent one is not asked to.
    if (!isSilence(error)) {
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
 * Lets the statements of a connection take any time, for as long as it is out of the pool. On the server that is for the
 * transaction, or for the session, where the caller has to `reset statement_timeout`. Only a connection that breaks ends
 * the wait then, as one does whose other end is gone.
 */
export async function takeAnyTime(client: pg.PoolClient, scope: 'transaction' | 'session'): Promise<void> {
  await client.query(`set ${scope === 'transaction' ? 'local ' : ''}statement_timeout = 0`);
  innards(client).connectionParameters.query_timeout = 0;
}

/** What node-postgres reads at each query, and has no other way to change; and what lies beneath the connection. */
function innards(client: pg.PoolClient) {
  return client as unknown as {
    readonly connectionParameters: { query_timeout: number };
    readonly connection: { readonly stream: Socket };
  };
}

/** node-postgres' own error for an answer that did not come in time. */
function isSilence(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** PostgreSQL's ISO output in UTC, such as `2021-01-01 00:00:00.5+00`. Infinity has no milliseconds. */
function parseTimestamp(text: string): EpochMs {
  const timeMs = Date.parse(text.replace(' ', 'T').replace(/\+00$/, 'Z'));
  if (Number.isNaN(timeMs)) throw new RangeError(`not a finite time: ${text}`);
  return timeMs;
}

/** A parameter for `timestamptz`. */
export function timestamp(timeMs: EpochMs): string {
  return new Date(timeMs).toISOString();
}

/** The same for many that are close together: formatting a date costs more than the rest of preparing a point. */
export function timestamps(timesMs: readonly EpochMs[]): string[] {
  let hourMs = Number.NaN;
  let hour = '';
  return timesMs.map((timeMs) => {
    const sinceHourMs = timeMs - hourMs;
    if (!(sinceHourMs >= 0 && sinceHourMs < 3_600_000)) {
      const text = timestamp(timeMs);
      hour = text.slice(0, text.indexOf('T') + 4);
      hourMs = Math.floor(timeMs / 3_600_000) * 3_600_000;
      return text;
    }
    return sinceHourMs % 60_000 === 0 ? `${hour}${minuteTexts[sinceHourMs / 60_000]}` : timestamp(timeMs);
  });
}

const minuteTexts = Array.from({ length: 60 }, (_, minute) => `${String(minute).padStart(2, '0')}:00.000Z`);

/** A parameter for `tstzrange`, half-open; null leaves the end open. */
export function timeRange(startMs: EpochMs, endMs: EpochMs | null): string {
  return `[${timestamp(startMs)},${endMs === null ? '' : timestamp(endMs)})`;
}

/** A parameter for `tstzmultirange`. */
export function timeRanges(ranges: ReadonlyArray<{ startMs: EpochMs; endMs: EpochMs }>): string {
  return `{${ranges.map(({ startMs, endMs }) => timeRange(startMs, endMs)).join(',')}}`;
}

/** A parameter for an array whose elements need no quoting: decimals, timestamps and integers. */
export function arrayOf(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}
