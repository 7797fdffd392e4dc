/** The baseline: one connection that COPYs the rows, rendered in advance, in one transaction. */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { copiedColumns, type Expected } from './table.ts';

export async function runCopy(client: pg.Client, expected: Expected): Promise<void> {
  const target = client.query(copyFrom(`copy tidemark.candle_points (${copiedColumns}) from stdin`));
  await pipeline(Readable.from(expected.chunks), target);
}
