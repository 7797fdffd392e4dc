/** COPY of rows into a table: the cheapest way in, for rows that are all new. */

import { once } from 'node:events';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const uniqueViolation = '23505';

/**
 * Copies lines of COPY's text format, within the caller's transaction.
 *
 * @param statement `copy ... from stdin`.
 * @returns false when a row with the same key exists. The transaction can then only be rolled back.
 */
export async function copyLines(
  client: pg.PoolClient,
  statement: string,
  pieces: readonly Buffer[],
): Promise<boolean> {
  const stream = client.query(copyFrom(statement));
  const finished = once(stream, 'finish');
  // A connection that is given up tells twice: that no answer came, and that it is closed. Nobody listens by then.
  stream.on('error', () => {});
  for (const piece of pieces) stream.write(piece);
  stream.end();
  try {
    await finished;
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === uniqueViolation) return false;
    throw error;
  }
}
