/**
 * All that is read of TimescaleDB beyond its documented views and functions: whether a chunk that is in the columnstore
 * has rows outside it too, and for which times there is no chunk. Read in the sources of 2.28.3, 2.29.2 and 2.30-dev.
 * `missingInternals` names what a release lacks.
 */

import type pg from 'pg';
import { codeOf, TidemarkError } from '../../errors.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { listOf, type RowOf, rowsOf, statement, text, time } from '../db/statement.ts';
import { timescaleVersion } from './extension.ts';

const catalog = {
  hypertable: ['id', 'schema_name', 'table_name'],
  dimension: ['id', 'hypertable_id', 'interval_length'],
  dimension_slice: ['dimension_id', 'range_start', 'range_end'],
};
const columns = Object.entries(catalog).flatMap(([table, names]) =>
  names.map((column) => ({ owner: `_timescaledb_catalog.${table}`, field: column })),
);
const functions = ['_timescaledb_functions.chunk_status_text(regclass)'];

/** Undefined table, column or function. */
const undefinedCodes: readonly unknown[] = ['42P01', '42703', '42883'];
const notPermitted = '42501';

/**
 * What this release of TimescaleDB lacks, in a sentence; null: nothing, or plain tables. Without it chunks are neither
 * created in advance nor found when they are due for the columnstore; nothing else stops.
 */
export async function missingInternals(client: pg.ClientBase | pg.Pool): Promise<string | null> {
  const version = await timescaleVersion(client);
  const missing = version === null ? [] : await lacking.on(client, { columns, functions });
  if (missing.length === 0) return null;
  const names = missing.map(({ name }) => name).join(', ');
  return `TimescaleDB ${version} lacks ${names}, which this version of Tidemark reads`;
}

const lacking = statement({
  name: 'lacking-internals',
  isPlannedAnew: true,
  text: `select owner || '.' || field as name from $columns
         where not exists (select from pg_attribute where attrelid = to_regclass(owner) and attname = field)
         union all
         select name from unnest($functions) name where to_regprocedure(name) is null`,
  parameters: { columns: rowsOf({ owner: text, field: text }), functions: listOf(text) },
  row: { name: text },
});

export type ChunkState = RowOf<typeof chunkState>;

/** A hypertable without its schema, and a chunk of it with its schema. */
const chunkState = { table: text, chunk: text };

/**
 * Lists the chunks of tables of the schema `tidemark` that end by a time and are not completely in the columnstore, the
 * oldest first, without frozen ones.
 *
 * @throws TidemarkError TIMESCALE_UNKNOWN where this release of TimescaleDB does not tell.
 */
export async function listChunksInRows(
  pool: pg.Pool,
  query: { tables: readonly string[]; beforeMs: EpochMs },
): Promise<ChunkState[]> {
  try {
    return await chunksInRows.on(pool, query);
  } catch (error) {
    if (!undefinedCodes.includes(codeOf(error))) throw error;
    const missing = await missingInternals(pool);
    if (missing === null) throw error;
    throw new TidemarkError('TIMESCALE_UNKNOWN', missing, { cause: error });
  }
}

const chunksInRows = statement({
  name: 'chunks-in-rows',
  isPlannedAnew: true,
  text: `
    select i.hypertable_name::text as table, chunk
    from timescaledb_information.chunks i
    join timescaledb_information.hypertables h using (hypertable_schema, hypertable_name)
    cross join lateral format('%I.%I', i.chunk_schema, i.chunk_name) chunk
    -- None of one that was dropped meanwhile.
    cross join lateral _timescaledb_functions.chunk_status_text(to_regclass(chunk)) states
    where hypertable_schema = 'tidemark' and hypertable_name = any ($tables) and h.compression_enabled
      and i.range_end <= $beforeMs and states <> '{COMPRESSED}' and 'FROZEN' <> all (states)
    order by i.range_end, chunk`,
  parameters: { tables: listOf(text), beforeMs: time },
  row: chunkState,
});

/** Pools whose database has no such catalog: plain PostgreSQL, or a newer release. */
const withoutCatalog = new WeakSet<pg.Pool>();

/**
 * The times for which a hypertable has no chunk; of those within one chunk's length the first and the last, so that
 * each chunk that is to come holds one of them. Reads the catalog, as the documented view takes milliseconds in a store
 * of many chunks.
 *
 * @param table of the schema `tidemark`. @param times as PostgreSQL reads them. @returns none where this is not known.
 */
export async function timesWithoutChunk(pool: pg.Pool, table: string, times: readonly string[]): Promise<string[]> {
  if (withoutCatalog.has(pool)) return [];
  try {
    const rows = await chunklessTimes.on(pool, { table, times });
    return rows.map((row) => row.time);
  } catch (error) {
    if (![...undefinedCodes, notPermitted].includes(codeOf(error))) throw error;
    withoutCatalog.add(pool);
    return [];
  }
}

const chunklessTimes = statement({
  name: 'times-without-chunk',
  text: `select distinct unnest(array[min(time), max(time)])::text as time
         from _timescaledb_catalog.hypertable h
         join _timescaledb_catalog.dimension d on d.hypertable_id = h.id
         cross join unnest($times::timestamptz[]) t (time)
         cross join lateral (select (extract(epoch from time) * 1000000)::bigint as at) u
         where h.schema_name = 'tidemark' and h.table_name = $table and not exists (
           select from _timescaledb_catalog.dimension_slice s
           where s.dimension_id = d.id and s.range_start <= at and s.range_end > at)
         group by at / d.interval_length`,
  parameters: { table: text, times: listOf(text) },
  row: { time: text },
});
