/** Runs the service's statements, and writes their rows as JSON. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';

/** The text in the first column of the only row; null for no row, or for a null. */
export async function queryText(
  pool: pg.Pool,
  statement: { name: string; text: string },
  values: readonly unknown[],
): Promise<string | null> {
  const result = await pool.query<[string | null]>({ ...statement, values: [...values], rowMode: 'array' });
  return result.rows[0]?.[0] ?? null;
}

/** The text of a list, which is never null. */
export async function queryList(
  pool: pg.Pool,
  statement: { name: string; text: string },
  values: readonly unknown[],
): Promise<string> {
  return (await queryText(pool, statement, values)) ?? '[]';
}

/** Rejects while the served tables cannot be read. */
export async function assertReadable(pool: pg.Pool): Promise<void> {
  await pool.query('select from tidemark.series limit 1');
}

/** Turns a statement that returns rows into one that returns them as the text of a JSON array. */
export function asJsonList(rows: string): string {
  return `select coalesce('[' || string_agg(row_to_json(r)::text, ',') || ']', '[]') from (${rows}) r`;
}

/** Turns a statement that returns at most one row into one that returns it as the text of a JSON object. */
export function asJsonObject(row: string): string {
  return `select row_to_json(r)::text from (${row}) r`;
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
