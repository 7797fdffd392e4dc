/** What the service's statements share. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';

/** Rejects while the served tables cannot be read. */
export async function assertReadable(pool: pg.Pool): Promise<void> {
  await pool.query('select from tidemark.series limit 1');
}

/** Milliseconds of a `timestamptz`, as SQL. A whole number: `extract` returns NUMERIC. */
export function millisecondsOf(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::bigint`;
}

/** ISO 8601 of a `timestamptz`, in UTC with milliseconds, as SQL. */
export function isoOf(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** No point is later, and PostgreSQL cannot read later years from JavaScript's ISO 8601. */
const maxClientTimeMs: EpochMs = Date.UTC(9999, 0, 1);

/** A client's time, within those that PostgreSQL reads. */
export function clientTime(timeMs: EpochMs): EpochMs {
  return Math.max(0, Math.min(timeMs, maxClientTimeMs));
}
