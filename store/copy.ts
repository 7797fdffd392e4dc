/** COPY of rows into a table: the cheapest way in, for rows that are all new. */

import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const uniqueViolation = '23505';

/**
 * Copies one row for each place of the columns, within the caller's transaction. Nothing is escaped: values are
 * decimals, timestamps and integers.
 *
 * @param statement `copy ... from stdin`. @param first value of the first column in every row.
 * @returns false when a row with the same key exists. The transaction can then only be rolled back.
 */
export async function copyRows(
  client: pg.PoolClient,
  statement: string,
  first: string,
  columns: ReadonlyArray<readonly string[]>,
): Promise<boolean> {
  const text = rowsAsText(first, columns);
  try {
    await new Promise<void>((resolve, reject) => {
      client.query(copyFrom(statement)).on('error', reject).on('finish', resolve).end(text);
    });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === uniqueViolation) return false;
    throw error;
  }
}

/** COPY's text format: columns apart by tabs, a line a row. Line by line, as one string of all costs more to make. */
function rowsAsText(first: string, columns: ReadonlyArray<readonly string[]>): Buffer {
  const count = columns[0]?.length ?? 0;
  let bytes = count * (first.length + columns.length + 1);
  for (const column of columns) for (const value of column) bytes += value.length;
  const text = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (let row = 0; row < count; row += 1) {
    let line = first;
    for (const column of columns) line += `\t${column[row]}`;
    at += text.write(`${line}\n`, at, 'latin1');
  }
  return text;
}
