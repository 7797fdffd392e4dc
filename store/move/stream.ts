/** The rows of a table from server to server: COPY's text, which is read here only to count its lines. */

import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { type Side, sideError } from './side.ts';
import type { MovedTable } from './tables.ts';

const lineFeed = 0x0a;

/**
 * Copies a table. What the target has not taken yet holds up the source: no more than a few buffers are in memory.
 * Text, because what PostgreSQL calls binary may differ between versions.
 *
 * @param onRows told of rows as they pass.
 */
export async function copyTable(
  { source, target }: { source: Side; target: Side },
  table: MovedTable & { readonly columns: string },
  onRows: (rows: number) => void,
): Promise<void> {
  const where = table.only === undefined ? '' : ` where ${table.only}`;
  // A query, because COPY of a hypertable by its name has none of its rows.
  const rows = `(select ${table.columns} from tidemark.${table.name}${where})`;
  const reader = source.client.query(copyTo(`copy ${rows} to stdout (encoding 'UTF8')`));
  const writer = target.client.query(
    copyFrom(`copy tidemark.${table.name} (${table.columns}) from stdin (encoding 'UTF8')`),
  );
  let failed: { error: unknown } | undefined;
  const written = finished(writer).catch((error: unknown) => {
    failed = { error };
    // Nobody is left to read for.
    reader.destroy();
  });
  try {
    for await (const chunk of reader as AsyncIterable<Buffer>) {
      if (failed !== undefined) break;
      if (!writer.write(chunk)) await Promise.race([once(writer, 'drain'), written]);
      onRows(linesIn(chunk));
    }
  } catch (error) {
    if (failed === undefined) throw sideError(error, 'source');
  }
  if (failed === undefined) writer.end();
  await written;
  if (failed !== undefined) throw sideError(failed.error, 'target');
}

/** A line feed within a value is written as `\n`. */
function linesIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) count += 1;
  return count;
}
