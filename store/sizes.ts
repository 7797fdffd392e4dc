/** What a point takes on disk. */

import type { SeriesKey } from '../contract/series.ts';
import type { Database } from './database.ts';
import { timescaleSchema } from './timescale/extension.ts';

/**
 * With indexes: in the columnstore, and on plain tables. Prices as exchanges trade, in 16 fraction digits; measured, see
 * docs/storage.md.
 */
const typical: Readonly<Record<SeriesKey['dataset'], { columnstore: number; plain: number }>> = Object.freeze(
  { candles: { columnstore: 21, plain: 137 }, asset_history: { columnstore: 17, plain: 133 } },
);

/** Fewer do not tell what many take: a chunk alone has its indexes and pages half empty. */
const enoughPoints = 100_000;

const tables = { candles: 'tidemark.candle_points', asset_history: 'tidemark.asset_history_points' } as const;

/** Bytes a point with all that belongs to it: as it is here, or where there is little as measured elsewhere. */
export async function bytesPerPoint(database: Database): Promise<Record<SeriesKey['dataset'], number>> {
  const schema = await timescaleSchema(database.pool);
  const size = schema === null ? 'pg_total_relation_size' : `${schema}.hypertable_size`;
  const of = async (dataset: SeriesKey['dataset']) => {
    const result = await database.pool.query<{ points: number; bytes: number }>(
      `select coalesce(sum(points), 0)::bigint as points, ${size}($2::regclass)::bigint as bytes
       from tidemark.series where dataset = $1`,
      [dataset, tables[dataset]],
    );
    const { points = 0, bytes = 0 } = result.rows[0] ?? {};
    return points >= enoughPoints
      ? bytes / points
      : typical[dataset][schema === null ? 'plain' : 'columnstore'];
  };
  return { candles: await of('candles'), asset_history: await of('asset_history') };
}
