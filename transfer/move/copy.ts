/** Copies the rows of a table from server to server, and compares both sides. */

import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { TidemarkError } from '../../errors.ts';
import { type Side, sideError } from './connection.ts';
import { type MovedColumns, type MovedTable, rowsToMove } from './tables.ts';

const lineFeed = 0x0a;

/**
 * Copies a table as COPY's text, because PostgreSQL's binary format may differ between versions. The source
 * waits for the target, so only a few buffers are in memory.
 *
 * @param onRows called with the number of copied rows.
 */
export async function copyTable(
  { source, target }: { source: Side; target: Side },
  table: MovedColumns,
  onRows: (rows: number) => void,
): Promise<void> {
  // A query, because COPY of a hypertable's own name copies none of its rows.
  const rows = `(select ${table.columns} from ${rowsToMove(table)})`;
  const reader = source.client.query(copyTo(`copy ${rows} to stdout (encoding 'UTF8')`));
  const writer = target.client.query(
    copyFrom(`copy tidemark.${table.name} (${table.columns}) from stdin (encoding 'UTF8')`),
  );
  let failed: { error: unknown } | undefined;
  const written = finished(writer).catch((error: unknown) => {
    failed = { error };
    // The target has failed.
    reader.destroy();
  });
  try {
    for await (const chunk of reader as AsyncIterable<Buffer>) {
      if (failed !== undefined) break;
      if (!writer.write(chunk)) await Promise.race([once(writer, 'drain'), written]);
      onRows(countLines(chunk));
    }
  } catch (error) {
    if (failed === undefined) throw sideError(error, 'source');
  }
  if (failed === undefined) writer.end();
  await written;
  if (failed !== undefined) throw sideError(failed.error, 'target');
}

/** A line feed within a value is written as `\n`. */
function countLines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) count += 1;
  return count;
}

export interface TableSummary {
  readonly rows: number;
  readonly checksum: string | null;
}

/**
 * Counts the rows to move. The checksum is the sum of 64 bits of each row's MD5, so it does not depend on the order
 * of the rows. A row is hashed as text, with all its digits.
 */
export async function summarize(side: Side, table: MovedColumns): Promise<TableSummary> {
  const result = await side.ask((client) =>
    client.query<TableSummary>(
      `select count(*) as rows,
              sum(('x' || left(md5(convert_to(row(${table.columns})::text, 'UTF8')),
                16))::bit(64)::bigint)::text as checksum
       from ${rowsToMove(table)}`,
    ),
  );
  return result.rows[0] ?? { rows: 0, checksum: null };
}

/** @throws TidemarkError MOVE_DIFFERS */
export function assertSame(table: MovedTable, source: TableSummary, target: TableSummary): void {
  if (source.rows === target.rows && source.checksum === target.checksum) return;
  const difference =
    source.rows === target.rows
      ? `${source.rows} rows, not all of them the same`
      : `${source.rows} rows here, ${target.rows} there`;
  throw new TidemarkError('MOVE_DIFFERS', `tidemark.${table.name}: ${difference}`);
}
