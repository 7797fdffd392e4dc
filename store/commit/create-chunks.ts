/**
 * Creates chunks before the transactions that fill them. TimescaleDB holds the lock under which it creates a chunk
 * until the end of the transaction (`ts_chunk_create_for_point` in src/chunk.c). One that fills a new chunk with a
 * month of minutes would hold up every other one that needs a new chunk, so that a backfill stored one file at a time.
 */

import { columnNames, datasets } from '../../model/datasets/index.ts';
import { dayMs, type EpochMs } from '../../model/intervals.ts';
import type { PointLines } from '../../model/point-lines.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { timestamps } from '../db/values.ts';
import { timesWithoutChunk } from '../timescale/internals.ts';

/** A transaction of fewer points is over in some milliseconds. */
const fewPoints = 1000;

interface Times {
  readonly timesMs: readonly EpochMs[] | Float64Array;
}

/** @param all points of one dataset that are about to be stored together. */
export async function createChunks(
  database: Database,
  dataset: PointLines['dataset'],
  all: readonly Times[],
): Promise<void> {
  if (all.reduce((sum, { timesMs }) => sum + timesMs.length, 0) < fewPoints) return;
  const table = datasets[dataset].table;
  const times = await timesWithoutChunk(database.pool, table, timestamps(firstOfDays(all)));
  if (times.length === 0) return;
  // Only a row makes TimescaleDB create a chunk. It is of no series, and gone before anyone can see it. Chunks are
  // created in order of time, in which the columnstore later merges them.
  const columns = columnNames[dataset];
  await inTransaction(database, async (client) => {
    await client.query('set local synchronous_commit = off');
    await client.query(
      `insert into tidemark.${table} (series_id, time, ${columns.join(', ')})
       select 0, time, ${columns.map(() => '0').join(', ')} from unnest($1::timestamptz[]) as t (time)
       order by time on conflict do nothing`,
      [times],
    );
    await client.query(`delete from tidemark.${table} where series_id = 0 and time = any ($1::timestamptz[])`, [times]);
  });
}

/** A time of each day: chunks begin and end with a day. */
function firstOfDays(all: readonly Times[]): EpochMs[] {
  const firsts = new Map<number, EpochMs>();
  for (const { timesMs } of all)
    for (const timeMs of timesMs) {
      const day = Math.floor(timeMs / dayMs);
      if (!firsts.has(day)) firsts.set(day, timeMs);
    }
  return [...firsts.values()];
}
