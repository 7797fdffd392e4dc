/** Points as PostgreSQL's COPY gives them, in pieces that end anywhere. */

import type { Layout, Names, Point, RowWriter } from '../../files/layout.ts';
import type { Database } from '../../store/db/database.ts';
import { copyPoints } from '../../transfer/queries/export-points.ts';

/** Points of one series, ascending. */
export interface Rows {
  readonly names: Names;
  readonly points: readonly Point[];
}

export async function* copiedPoints(
  database: Database,
  { values: columns }: Layout,
  points: readonly Point[],
  format: RowWriter['takes'],
): AsyncGenerator<Buffer> {
  const rows = points.map(({ timeMs, values }) => {
    const cells = values.map((value) => (value === null ? 'null' : `'${value}'`));
    return `('${new Date(timeMs).toISOString()}'::timestamptz, ${cells.map((cell) => `${cell}::numeric`).join(', ')})`;
  });
  const from = `(values ${rows.join(', ')}) points (time, ${columns.join(', ')})`;
  const client = await database.pool.connect();
  try {
    let cut = 0;
    for await (const piece of copyPoints(client, { columns, from }, format))
      for (let at = 0; at < piece.length; ) {
        cut = 1 + ((cut * 31 + 7) % 97);
        yield piece.subarray(at, at + cut);
        at += cut;
      }
  } finally {
    client.release();
  }
}
