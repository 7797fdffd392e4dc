/**
 * Adapts a migrated database to TimescaleDB, where it has the extension. Every step looks at the present
 * state first, so it can run after every migration. It converts a plain database that got the extension
 * later, and applies changed settings.
 */

import type pg from 'pg';
import type { StorageSettings } from '../settings/config.ts';
import { bool, float8, int4, statement, text } from '../store/db/statement.ts';
import { timescaleVersion } from '../store/timescale/extension.ts';
import { type Hypertable, hypertables } from '../store/timescale/hypertables.ts';

/**
 * Runs within the caller's transaction.
 *
 * @param isNew whether this transaction made the tables.
 * @returns a line for each change.
 */
export async function adaptToTimescale(
  client: pg.ClientBase,
  settings: StorageSettings,
  isNew: boolean,
): Promise<string[]> {
  if ((await timescaleVersion(client)) === null) return [];
  return [...(await configureHypertables(client, isNew)), ...(await configureColumnstore(client, settings))];
}

/** Days in a new chunk of each hypertable, by name. */
async function readChunkDays(client: pg.ClientBase): Promise<ReadonlyMap<string, number>> {
  const rows = await lengthsOfChunks.on(client, {});
  return new Map(rows.map(({ name, days }) => [name, days]));
}

const lengthsOfChunks = statement({
  name: 'lengths-of-chunks',
  isPlannedAnew: true,
  text: `
    select hypertable_name::text as name, (extract(epoch from time_interval) / 86400)::double precision as days
    from timescaledb_information.dimensions
    where hypertable_schema = 'tidemark' and dimension_number = 1`,
  row: { name: text, days: float8 },
});

/**
 * Turns plain tables into hypertables, with every row, key and index, and sets the length of chunks in a new store.
 * Others keep their length, which SQL may have set. Runs within the caller's transaction, which locks a converted table
 * until its end.
 *
 * @returns a line for each change.
 */
async function configureHypertables(client: pg.ClientBase, isNew: boolean): Promise<string[]> {
  const present = await readChunkDays(client);
  const changes: string[] = [];
  for (const { name, chunkDays, timeIndex } of hypertables) {
    if (present.has(name)) {
      const length = [`tidemark.${name}`, chunkDays];
      if (isNew) await client.query('select set_chunk_time_interval($1::regclass, make_interval(days => $2))', length);
      continue;
    }
    await client.query(
      `select create_hypertable($1::regclass, by_range('time', make_interval(days => $2)),
                                create_default_indexes => $3, migrate_data => true)`,
      [`tidemark.${name}`, chunkDays, timeIndex],
    );
    // The planner's statistics describe the plain table, and its rows are in chunks now.
    await client.query(`analyze tidemark.${name}`);
    changes.push(`converted tidemark.${name} to a hypertable with chunks of ${chunkDays} days`);
  }
  return changes;
}

/** How often the policy looks for chunks that are old enough, or were written to since. */
const policyHours = 1;

/**
 * Sets the columnstore's layout and policy of every hypertable that has one, within the caller's transaction.
 * An age of 0 removes the policies, and compressed chunks stay.
 *
 * @returns a line for each change.
 */
async function configureColumnstore(client: pg.ClientBase, settings: StorageSettings): Promise<string[]> {
  const present = await readChunkDays(client);
  const changes: string[] = [];
  for (const table of hypertables) {
    if (table.segmentBy === null) continue;
    if (settings.columnstoreAfterDays > 0) {
      const days = mergedDays(present.get(table.name) ?? table.chunkDays, settings);
      changes.push(...(await setLayout(client, table, table.segmentBy, days)));
    }
    changes.push(...(await setPolicy(client, table.name, settings.columnstoreAfterDays)));
  }
  return changes;
}

/** Whole chunks up to the configured length; at least one, which merges none. */
function mergedDays(chunkDays: number, settings: StorageSettings): number {
  return Math.max(1, Math.floor(settings.columnstoreChunkDays / chunkDays)) * chunkDays;
}

/** Only where it differs: TimescaleDB does not merge chunks that were created under other settings. */
async function setLayout(client: pg.ClientBase, table: Hypertable, segmentBy: string, days: number): Promise<string[]> {
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
  const [current] = await policy.on(client, { name, afterDays });
  if (current?.same === true || (current === undefined && afterDays === 0)) return [];
  await client.query(`call remove_columnstore_policy('tidemark.${name}', if_exists => true)`);
  if (afterDays === 0) return [`tidemark.${name} no longer moves chunks to the columnstore`];
  await client.query(
    `call add_columnstore_policy('tidemark.${name}', after => interval '${afterDays} days',
                                 schedule_interval => interval '${policyHours} hours')`,
  );
  return [`tidemark.${name} moves chunks to the columnstore when they are ${afterDays} days old`];
}

const policy = statement({
  name: 'columnstore-policy',
  isPlannedAnew: true,
  text: `
    select (config->>'compress_after')::interval = make_interval(days => $afterDays)
           and schedule_interval = make_interval(hours => ${policyHours}) as same
    from timescaledb_information.jobs
    where proc_name = 'policy_compression' and hypertable_schema = 'tidemark' and hypertable_name = $name`,
  parameters: { name: text, afterDays: int4 },
  row: { same: bool },
});
