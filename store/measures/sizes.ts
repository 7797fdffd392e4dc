/** Sizes on disk: bytes a point, the database, and quarantine. */

import type { SeriesKey } from '../../contract/series.ts';
import { pointTables } from '../commit/points.ts';
import type { Database } from '../db/database.ts';
import { timescaleSchema } from '../timescale/extension.ts';

/** Measured with indexes, for prices as exchanges trade, in 16 fraction digits; see docs/storage.md. */
const typical: Readonly<Record<SeriesKey['dataset'], { columnstore: number; row: number }>> = Object.freeze({
  candles: { columnstore: 21, row: 137 },
  asset_history: { columnstore: 17, row: 133 },
});

/** Fewer points give no estimate: the indexes and pages of a single chunk are half empty. */
const minPoints = 100_000;

/** Plain tables: their size over their points. */
const plainTableSize = `
  select coalesce(sum(points), 0)::bigint as points, pg_total_relation_size($2::regclass)::bigint as bytes
  from tidemark.series where dataset = $1`;

/**
 * Hypertables: the size of compressed chunks over their rows. The newest chunks are still rows, and so is a
 * whole fresh backfill until the policy runs. No function of the extension returns both figures.
 */
const columnstoreSize = `
  select coalesce(sum(numrows_pre_compression), 0)::bigint as points,
         coalesce(sum(compressed_heap_size + compressed_toast_size + compressed_index_size), 0)::bigint as bytes
  from _timescaledb_catalog.compression_chunk_size z
  join _timescaledb_catalog.chunk c on c.id = z.chunk_id
  join _timescaledb_catalog.hypertable h on h.id = c.hypertable_id
  where format('%I.%I', h.schema_name, h.table_name)::regclass = $2::regclass and $1::text is not null`;

/** Bytes a point, with indexes: as measured here, or as documented where there are few points. */
export interface PointBytes {
  readonly row: number;
  /** In the columnstore; without one, the same. */
  readonly kept: number;
}

export async function bytesPerPoint(
  database: Database,
): Promise<Readonly<Record<SeriesKey['dataset'], PointBytes>>> {
  const isPlain = (await timescaleSchema(database.pool)) === null;
  const of = async (dataset: SeriesKey['dataset']) => {
    const result = await database.pool.query<{ points: number; bytes: number }>(
      isPlain ? plainTableSize : columnstoreSize,
      [dataset, `tidemark.${pointTables[dataset]}`],
    );
    const { points = 0, bytes = 0 } = result.rows[0] ?? {};
    const seen = points >= minPoints ? bytes / points : null;
    const { row, columnstore } = typical[dataset];
    return isPlain ? { row: seen ?? row, kept: seen ?? row } : { row, kept: seen ?? columnstore };
  };
  return { candles: await of('candles'), asset_history: await of('asset_history') };
}

/** Rows in quarantine, by dataset. */
export async function measureQuarantine(
  database: Database,
): Promise<ReadonlyArray<{ dataset: string; rows: number }>> {
  const result = await database.pool.query<{ dataset: string; rows: number }>({
    name: 'measure-quarantine',
    text: 'select dataset, count(*) as rows from tidemark.quarantine group by dataset order by dataset',
  });
  return result.rows;
}

/** Bytes of the database on disk. Reads the size of every file, and many chunks have many files. */
export async function databaseBytes(database: Database): Promise<number> {
  const result = await database.pool.query<{ bytes: number }>(
    'select pg_database_size(current_database()) as bytes',
  );
  return result.rows[0]?.bytes ?? 0;
}
