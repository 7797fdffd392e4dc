/** The points of a window in statements. */

import type { Column } from '../../model/dataset.ts';
import { columnNames, datasets } from '../../model/datasets/index.ts';
import { type PointLines, pointAt } from '../../model/point-lines.ts';
import { int4, numeric, rowsAs, time } from '../db/statement.ts';
import { arrayOf, timestamps } from '../db/values.ts';

/** The times, then each value column. Works without points too. */
function arraysOf(points: PointLines): string[] {
  const { columns } = datasets[points.dataset];
  const rows = points.timesMs.map((_, place) => pointAt(points, place).values);
  const arrays = columns.map((_, column) => arrayOf(rows.map((row) => row[column] ?? 'null')));
  return [arrayOf(timestamps(points.timesMs)), ...arrays];
}

/**
 * Parts of a statement over the points of a dataset: `i` are incoming points, `s` the stored ones. A source that lacks
 * an optional value does not change the stored one.
 */
export function pointSql(dataset: PointLines['dataset']) {
  const columns = columnNames[dataset];
  const optional = new Set(
    datasets[dataset].columns.flatMap((column: Column) => (column.isOptional ? column.name : [])),
  );
  /** A value, or that of the other side where it is optional and absent. */
  const valueIn = (from: string, other: string) => (column: string) =>
    optional.has(column) ? `coalesce(${from}.${column}, ${other}.${column})` : `${from}.${column}`;
  const values = (from: string, other: string, suffix = '') =>
    columns.map((column) => `${valueIn(from, other)(column)}${suffix}`).join(', ');
  const table = `tidemark.${datasets[dataset].table}`;
  const list = (prefix: string, suffix = '') => columns.map((column) => `${prefix}${column}${suffix}`).join(', ');
  return {
    columns,
    table,
    list,
    incoming: 'select * from $points',
    stored: `select time, ${list('')} from ${table} where series_id = $seriesId and time >= $start and time < $end`,
    /** Of both: the points, their series, and the range. */
    parameters: {
      points: rowsAs({ time, ...Object.fromEntries(columns.map((name) => [name, numeric])) }, arraysOf),
      ...{ seriesId: int4, start: time, end: time },
    },
    different: `(${values('i', 's')}) is distinct from (${list('s.')})`,
    /** Whether a value that was stored differs. */
    revised: `(${values('i', 's')}) is distinct from (${values('s', 'i')})`,
    /** Whether the digits of a value that was stored differ, even where the numbers are equal. */
    writtenOtherwise: `(${values('i', 's', '::text')}) is distinct from (${values('s', 'i', '::text')})`,
    /** Assigns the values of the incoming points `d` to the stored ones `p`. */
    assignments: columns.map((column) => `${column} = ${valueIn('d', 'p')(column)}`).join(', '),
    object(from: 'i' | 's', as = '') {
      const value = from === 'i' ? valueIn('i', 's') : (column: string) => `s.${column}`;
      return `jsonb_build_object(${columns.map((column) => `'${column}', ${value(column)}${as}`).join(', ')})`;
    },
  };
}
