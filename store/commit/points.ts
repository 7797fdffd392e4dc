/**
 * The points of a window, as parameters of statements and for COPY.
 *
 * Points wait for their commit as one buffer of text. As tens of thousands of small strings, every garbage
 * collection in between would copy them.
 */

import { type CandleLines, decimalsAt, isCandleLines } from '../../model/candle-lines.ts';
import { columnNames, type DatasetName, datasets } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import { arrayOf, timestamps } from '../db/database.ts';

export interface PointLines {
  readonly dataset: DatasetName;
  readonly timesMs: readonly EpochMs[];
  /** Holds the decimals of each time, as `decimalsAt` reads them. */
  readonly text: Buffer;
  /** Where the decimals of each time start in the text. */
  readonly starts: readonly number[];
}

export type PointRows = ReadonlyArray<Candle | HistoryPoint> | CandleLines;

/** @param places of the rows to take, ascending in time, each time once; null: all of them, which are so. */
export function pointLines(
  dataset: PointLines['dataset'],
  rows: PointRows,
  places: readonly number[] | null = null,
): PointLines {
  const allMs = timesOf(rows);
  const timesMs = places === null ? allMs : places.map((place) => allMs[place] ?? Number.NaN);
  if (!isCandleLines(rows)) return { dataset, timesMs, ...linesOf(rows, places) };
  const { text, starts } = rows;
  return { dataset, timesMs, text, starts: places?.map((place) => starts[place] ?? Number.NaN) ?? starts };
}

function linesOf(
  rows: ReadonlyArray<Candle | HistoryPoint>,
  places: readonly number[] | null,
): Pick<PointLines, 'text' | 'starts'> {
  const taken = places?.map((place) => rows[place]) ?? rows;
  const starts: number[] = [];
  let length = 0;
  const lines = taken.map((row) => {
    const line = `${valuesOf(row)}\n`;
    starts.push(length);
    length += line.length;
    return line;
  });
  return { text: Buffer.from(lines.join(''), 'latin1'), starts };
}

export function timesOf(rows: PointRows): readonly EpochMs[] {
  return isCandleLines(rows) ? rows.timesMs : rows.map(timeOf);
}

export function timeOf(row: Candle | HistoryPoint): EpochMs {
  return 'period' in row ? row.period : row.time;
}

function valuesOf(row: Candle | HistoryPoint | undefined): string {
  if (row === undefined) throw new RangeError('no such row');
  return 'period' in row ? `${row.open}\t${row.high}\t${row.low}\t${row.close}\t${row.volume}` : row.priceUsd;
}

/** Parameters: the times, then each value column. Works without points too. */
export function pointParameters({ dataset, timesMs, text, starts }: PointLines): string[] {
  const columns = columnNames[dataset];
  const rows = starts.map((start) => decimalsAt(text, start, columns.length));
  return [arrayOf(timestamps(timesMs)), ...columns.map((_, column) => arrayOf(rows.map((row) => row[column] ?? '')))];
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
