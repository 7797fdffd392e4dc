/** Which hypertables keep their older chunks in the columnstore, and from which age on. */

import type pg from 'pg';
import type { StorageSettings } from '../../config.ts';
import { type Hypertable, hypertables } from './hypertables.ts';

/** How often the policy looks for chunks that have come of age, and for ones that were written to since. */
const everyHours = 1;

/**
 * Sets the columnstore's layout and policy of every hypertable that has one, within the caller's transaction. With an
 * age of 0 the policies go, and what is in the columnstore stays there.
 *
 * @returns a line for each change.
 */
export async function shapeColumnstore(client: pg.ClientBase, settings: StorageSettings): Promise<string[]> {
  const changes: string[] = [];
  for (const table of hypertables) {
    if (table.segmentBy === null) continue;
    if (settings.columnstoreAfterDays > 0) {
      const days = mergedDays(table.chunkDays(settings), settings);
      changes.push(...(await setLayout(client, table, table.segmentBy, days)));
    }
    changes.push(...(await setPolicy(client, table.name, settings.columnstoreAfterDays)));
  }
  return changes;
}

/** Whole chunks up to the length that is set; at least one, which is to merge none. */
function mergedDays(chunkDays: number, settings: StorageSettings): number {
  return Math.max(1, Math.floor(settings.columnstoreChunkDays / chunkDays)) * chunkDays;
}

/** Only where it differs: TimescaleDB merges no chunk into one that was made under other settings. */
async function setLayout(
  client: pg.ClientBase,
  table: Hypertable,
  segmentBy: string,
  days: number,
): Promise<string[]> {
  const found = await client.query(
    `select from timescaledb_information.hypertable_columnstore_settings
     where hypertable = $1::regclass and segmentby = $2 and orderby = '"time"'
       and compress_interval_length::interval = make_interval(days => $3)`,
    [`tidemark.${table.name}`, segmentBy, days],
  );
  if (found.rowCount !== 0) return [];
  await client.query(
    `alter table tidemark.${table.name} set (timescaledb.enable_columnstore,
       timescaledb.segmentby = '${segmentBy}', timescaledb.orderby = 'time',
       timescaledb.compress_chunk_interval = '${days} days')`,
  );
  return [`the columnstore of tidemark.${table.name} has chunks of up to ${days} days`];
}

async function setPolicy(client: pg.ClientBase, name: string, afterDays: number): Promise<string[]> {
  const found = await client.query<{ same: boolean }>(
    `select (config->>'compress_after')::interval = make_interval(days => $2)
            and schedule_interval = make_interval(hours => $3) as same
     from timescaledb_information.jobs
     where proc_name = 'policy_compression' and hypertable_schema = 'tidemark' and hypertable_name = $1`,
    [name, afterDays, everyHours],
  );
  const current = found.rows[0];
  if (current?.same === true || (current === undefined && afterDays === 0)) return [];
  await client.query(`call remove_columnstore_policy('tidemark.${name}', if_exists => true)`);
  if (afterDays === 0) return [`tidemark.${name} moves no more chunks to the columnstore`];
  await client.query(
    `call add_columnstore_policy('tidemark.${name}', after => interval '${afterDays} days',
                                 schedule_interval => interval '${everyHours} hours')`,
  );
  return [`tidemark.${name} moves chunks to the columnstore when they are ${afterDays} days old`];
}
