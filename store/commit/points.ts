/** The points of a window in statements. */

import { columnNames, datasets } from '../../model/datasets/index.ts';
import { type PointLines, pointAt } from '../../model/point-lines.ts';
import { arrayOf, timestamps } from '../db/values.ts';

/** Parameters: the times, then each value column. Works without points too. */
export function pointParameters(points: PointLines): string[] {
  const { columns } = datasets[points.dataset];
  const rows = points.timesMs.map((_, place) => pointAt(points, place).values);
  const arrays = columns.map((_, column) => arrayOf(rows.map((row) => row[column] ?? 'null')));
  return [arrayOf(timestamps(points.timesMs)), ...arrays];
}

/**
 * Parts of a statement over the points of a dataset. @param firstArray place of the first of {@link
 * pointParameters}.
 */
export function pointSql(dataset: PointLines['dataset'], firstArray: number) {
  const columns = columnNames[dataset];
  const table = `tidemark.${datasets[dataset].table}`;
  const list = (prefix: string, suffix = '') => columns.map((column) => `${prefix}${column}${suffix}`).join(', ');
  const arrays = columns.map((_, place) => `$${firstArray + 1 + place}::numeric[]`).join(', ');
  return {
    columns,
    table,
    list,
    incoming: `select * from unnest($${firstArray}::timestamptz[], ${arrays}) as t (time, ${list('')})`,
    /** `$1` series, `$2` and `$3` the range. */
    stored: `select time, ${list('')} from ${table} where series_id = $1 and time >= $2 and time < $3`,
    different: `(${list('i.')}) is distinct from (${list('s.')})`,
    /** Whether the digits differ, even where the numbers are equal. */
    writtenOtherwise: `(${list('i.', '::text')}) is distinct from (${list('s.', '::text')})`,
    object: (from: string, as = '') =>
      `jsonb_build_object(${columns.map((column) => `'${column}', ${from}.${column}${as}`).join(', ')})`,
  };
}
