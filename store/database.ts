/** The pool of connections that every query of the store goes through. */

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
  /** Called when an idle connection breaks; the pool replaces it. */
  readonly onIdleError?: (error: Error) => void;
}

// What queries return: NUMERIC stays text (node-postgres' default), timestamps and counts become numbers.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTimestamp);

/** Opens a pool. No connection is made before the first query. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: 10_000,
    statement_timeout: options.statementTimeoutMs,
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    options: '-c timezone=UTC -c datestyle=ISO',
    types,
  });
  pool.on('error', (error) => options.onIdleError?.(error));
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
    // A connection that cannot even roll back is not given back to the pool.
    await client.query('rollback').then(
      () => {
        broken = undefined;
      },
      () => {},
    );
    throw error;
  } finally {
    client.release(broken);
  }
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

/** A parameter for `tstzrange`, half-open; null leaves the end open. */
export function timeRange(startMs: EpochMs, endMs: EpochMs | null): string {
  return `[${timestamp(startMs)},${endMs === null ? '' : timestamp(endMs)})`;
}

/** A parameter for an array whose elements need no quoting: decimals, timestamps and integers. */
export function arrayOf(values: readonly string[]): string {
  return `{${values.join(',')}}`;
}
