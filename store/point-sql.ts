/** What the statements over stored points have in common: tables, columns, and points as parameters. */

import { arrayOf } from './database.ts';
import { columnsOf, type PointLines } from './point-lines.ts';

export const pointTables = Object.freeze({ candles: 'candle_points', asset_history: 'asset_history_points' });
/** The columns of values, in the order in which point-lines.ts writes them. */
export const pointColumns = Object.freeze({
  candles: ['open', 'high', 'low', 'close', 'volume'],
  asset_history: ['price_usd'],
});

/** Parameters: the times, then each column of values; also of no points at all. */
export function pointArrays(points: PointLines): string[] {
  const columns = points.timesMs.length === 0 ? [] : columnsOf(points);
  return ['time', ...pointColumns[points.dataset]].map((_, place) => arrayOf(columns[place] ?? []));
}

/** Parts of a statement over the points of a dataset. @param firstArray place of the first of {@link pointArrays}. */
export function pointSql(dataset: PointLines['dataset'], firstArray: number) {
  const columns: readonly string[] = pointColumns[dataset];
  const table = `tidemark.${pointTables[dataset]}`;
  const list = (prefix: string, suffix = '') =>
    columns.map((column) => `${prefix}${column}${suffix}`).join(', ');
  const arrays = columns.map((_, place) => `$${firstArray + 1 + place}::numeric[]`).join(', ');
  return {
    columns,
    table,
    list,
    incoming: `select * from unnest($${firstArray}::timestamptz[], ${arrays}) as t (time, ${list('')})`,
    /** `$1` series, `$2` and `$3` the range. */
    stored: `select time, ${list('')} from ${table} where series_id = $1 and time >= $2 and time < $3`,
    different: `(${list('i.')}) is distinct from (${list('s.')})`,
    /** Whether the digits differ, be the numbers equal or not. */
    writtenOtherwise: `(${list('i.', '::text')}) is distinct from (${list('s.', '::text')})`,
    object: (from: string, as = '') =>
      `jsonb_build_object(${columns.map((column) => `'${column}', ${from}.${column}${as}`).join(', ')})`,
  };
}
