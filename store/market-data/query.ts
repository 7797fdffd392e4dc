/** How the service's statements are run, and how they write JSON. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import { timestamp } from '../database.ts';

/** The text in the first column of the only row; null for no row, or a null in it. */
export async function textOf(
  pool: pg.Pool,
  statement: { name: string; text: string },
  values: readonly unknown[],
): Promise<string | null> {
  const result = await pool.query<[string | null]>({ ...statement, values: [...values], rowMode: 'array' });
  return result.rows[0]?.[0] ?? null;
}

/** For a list that is never null. */
export async function listOf(
  pool: pg.Pool,
  statement: { name: string; text: string },
  values: readonly unknown[],
): Promise<string> {
  return (await textOf(pool, statement, values)) ?? '[]';
}

/** Rejects while what is served cannot be read. */
export async function assertReadable(pool: pg.Pool): Promise<void> {
  await pool.query('select from tidemark.series limit 1');
}

/** An SQL statement that gives rows, in order, as one that gives the text of a JSON array of them. */
export function asJsonList(rows: string): string {
  return `select coalesce('[' || string_agg(row_to_json(r)::text, ',') || ']', '[]') from (${rows}) r`;
}

/** An SQL statement that gives at most one row as one that gives it as the text of a JSON object. */
export function asJsonObject(row: string): string {
  return `select row_to_json(r)::text from (${row}) r`;
}

/** Milliseconds of a `timestamptz`, as SQL. A whole number: `extract` gives NUMERIC. */
export function millisecondsOf(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::bigint`;
}

/** No point is later, and PostgreSQL reads no later year from ISO 8601 as JavaScript writes it. */
const latestAskedMs: EpochMs = Date.UTC(9999, 0, 1);

/** A parameter for `timestamptz` from a moment that a client gives. */
export function askedTime(timeMs: EpochMs): string {
  return timestamp(Math.max(0, Math.min(timeMs, latestAskedMs)));
}
