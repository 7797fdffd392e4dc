/** Requests of the last minute, counted in PostgreSQL: for all processes that serve one database. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';

export interface CountedRequest {
  /** False: `perMinute` others were made in the 60 seconds before; this one does not count. */
  readonly admitted: boolean;
  /** Requests of this minute, this one included where it was admitted. */
  readonly used: number;
  /** When the oldest of them was made; a minute later it counts no more. */
  readonly oldestMs: EpochMs;
  /** By the one clock that all of them are counted by. */
  readonly nowMs: EpochMs;
}

/** Rejects while the database does not answer. */
export async function assertCountable(pool: pg.Pool): Promise<void> {
  await pool.query('select 1');
}

/** @param atMs instead of the server's clock, for a test. */
export async function countRequest(
  pool: pg.Pool,
  caller: string,
  perMinute: number,
  atMs: EpochMs | null = null,
): Promise<CountedRequest> {
  const result = await pool.query<CountedRequest>({
    name: 'count-request',
    text: `select admitted, used, oldest_ms as "oldestMs", now_ms as "nowMs" from tidemark.admit_request($1, $2, $3)`,
    values: [caller, perMinute, atMs],
  });
  const row = result.rows[0];
  if (row === undefined) throw new Error('the request was not counted');
  return row;
}
