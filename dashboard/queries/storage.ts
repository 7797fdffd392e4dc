/** Bytes on disk by dataset. */

import { datasetNames, datasets, datasetText } from '../../model/datasets/index.ts';
import { eachList } from '../../model/lists/index.ts';
import type { Database } from '../../store/db/database.ts';
import { int8, listOf, statement, statementsBy, text } from '../../store/db/statement.ts';
import { databaseBytes } from '../../store/status/measures.ts';
import { timescaleSchema } from '../../store/timescale/extension.ts';
import { hypertables } from '../../store/timescale/hypertables.ts';
import type { StoredBytes } from './shapes.ts';

const shownAs: Readonly<Record<string, string>> = {
  ...Object.fromEntries(datasetNames.map((name) => [datasets[name].table, datasetText(name)])),
  rollup_hours: 'rollups',
  rollup_days: 'rollups',
  ...Object.fromEntries(
    eachList.map(({ word, keeps, tables }) => [tables.states, keeps === 'every poll' ? word : 'lists']),
  ),
  fetches: 'requests',
  point_revisions: 'revisions',
};

/**
 * The largest first, with their indexes. `compressed` is the part in the columnstore. What no dataset has is `other`:
 * tables of series and settings, and PostgreSQL's own.
 */
export async function readStoredBytes(database: Database): Promise<StoredBytes[]> {
  const schema = await timescaleSchema(database.pool);
  const stored = await tableSizes(schema ?? '').on(database.pool, { names: hypertables.map(({ name }) => name) });
  const sums = new Map<string, { bytes: number; compressed: number }>();
  for (const { name, bytes, compressed } of stored) {
    const dataset = shownAs[name] ?? name;
    const sum = sums.get(dataset) ?? { bytes: 0, compressed: 0 };
    sums.set(dataset, { bytes: sum.bytes + bytes, compressed: sum.compressed + compressed });
  }
  const known = [...sums.values()].reduce((total, { bytes }) => total + bytes, 0);
  sums.set('other', { bytes: Math.max(0, (await databaseBytes(database)) - known), compressed: 0 });
  return [...sums].map(([dataset, sum]) => ({ dataset, ...sum })).sort((one, other) => other.bytes - one.bytes);
}

/** By the schema of TimescaleDB; `''`: the tables are plain. */
const tableSizes = statementsBy(['', 'public'] as string[], (schema) => {
  // Tables of one chunk each when the extension came after them are plain as well.
  const size =
    schema === ''
      ? 'pg_total_relation_size(table_name), 0::bigint'
      : `coalesce(${schema}.hypertable_size(table_name), pg_total_relation_size(table_name)),
         coalesce((select sum(after_compression_total_bytes)
                   from ${schema}.hypertable_columnstore_stats(table_name)), 0)::bigint`;
  return statement({
    name: `dashboard-table-sizes ${schema}`,
    isPlannedAnew: true,
    text: `
      select name, bytes, compressed
      from (select name, to_regclass('tidemark.' || name) as table_name from unnest($names) as name) t,
      lateral (select ${size}) as s (bytes, compressed)
      where table_name is not null`,
    parameters: { names: listOf(text) },
    row: { name: text, bytes: int8, compressed: int8 },
  });
});
