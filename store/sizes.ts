/** What a point takes on disk. */

import type { SeriesKey } from '../contract/series.ts';
import type { Database } from './database.ts';
import { pointTables } from './point-sql.ts';
import { timescaleSchema } from './timescale/extension.ts';

/**
 * With indexes: in the columnstore, and as rows. Prices as exchanges trade, in 16 fraction digits; measured,
 * see docs/storage.md.
 */
const typical: Readonly<Record<SeriesKey['dataset'], { columnstore: number; row: number }>> = Object.freeze({
  candles: { columnstore: 21, row: 137 },
  asset_history: { columnstore: 17, row: 133 },
});

/** Fewer do not tell what many take: a chunk alone has its indexes and pages half empty. */
const enoughPoints = 100_000;

/** Of plain tables: what there is, over its points. */
const onPlainTables = `
  select coalesce(sum(points), 0)::bigint as points, pg_total_relation_size($2::regclass)::bigint as bytes
  from tidemark.series where dataset = $1`;

/**
 * Of hypertables: what chunks took when they were moved to the columnstore, over the rows that were moved. The newest
 * chunks are still rows, and so is all of a fresh backfill until the policy comes by. No function of the extension
 * gives both figures.
 */
const inColumnstore = `
  select coalesce(sum(numrows_pre_compression), 0)::bigint as points,
         coalesce(sum(compressed_heap_size + compressed_toast_size + compressed_index_size), 0)::bigint as bytes
  from _timescaledb_catalog.compression_chunk_size z
  join _timescaledb_catalog.chunk c on c.id = z.chunk_id
  join _timescaledb_catalog.hypertable h on h.id = c.hypertable_id
  where format('%I.%I', h.schema_name, h.table_name)::regclass = $2::regclass and $1::text is not null`;

/** Bytes a point with all that belongs to it: as it is here, or where there is little as measured elsewhere. */
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
      isPlain ? onPlainTables : inColumnstore,
      [dataset, `tidemark.${pointTables[dataset]}`],
    );
    const { points = 0, bytes = 0 } = result.rows[0] ?? {};
    const seen = points >= enoughPoints ? bytes / points : null;
    const { row, columnstore } = typical[dataset];
    return isPlain ? { row: seen ?? row, kept: seen ?? row } : { row, kept: seen ?? columnstore };
  };
  return { candles: await of('candles'), asset_history: await of('asset_history') };
}
