/**
 * The points of a window, as tuples of COPY and as parameters of statements.
 *
 * Points wait for their commit as one buffer of lines. As tens of thousands of small strings, every garbage
 * collection in between would copy them.
 */

import { type CandleLines, isCandleLines } from '../../contract/candle-lines.ts';
import type { EpochMs } from '../../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../../contract/resources.ts';
import { arrayOf, timestamps } from '../db/database.ts';
import { binaryTuples } from './binary-copy.ts';

export interface PointLines {
  readonly dataset: 'candles' | 'asset_history';
  readonly timesMs: readonly EpochMs[];
  /** A line for each time: its decimals, separated by tabs. */
  readonly text: Buffer;
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
  const taken = places ?? timesMs.map((_, place) => place);
  const text = isCandleLines(rows)
    ? linesAt(rows, places)
    : Buffer.from(taken.map((place) => `${valuesOf(rows[place])}\n`).join(''), 'latin1');
  return { dataset, timesMs, text };
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

function linesAt({ text, ends }: CandleLines, places: readonly number[] | null): Buffer {
  if (places === null) return text;
  return Buffer.concat(places.map((place) => text.subarray(ends[place - 1] ?? 0, ends[place])));
}

/** The points as tuples of `copy TABLE (series_id, time, ...) from stdin (format binary)`. */
export function pointTuples(seriesId: number, { dataset, timesMs, text }: PointLines): Buffer {
  return binaryTuples(seriesId, timesMs, text, pointColumns[dataset].length);
}

export const pointTables = Object.freeze({ candles: 'candle_points', asset_history: 'asset_history_points' });
/** The value columns, in the order of the lines. */
export const pointColumns = Object.freeze({
  candles: ['open', 'high', 'low', 'close', 'volume'],
  asset_history: ['price_usd'],
});

/** Parameters: the times, then each value column. Works without points too. */
export function pointParameters({ dataset, timesMs, text }: PointLines): string[] {
  const lines = text.toString('latin1').trimEnd().split('\n');
  const rows = timesMs.length === 0 ? [] : lines.map((line) => line.split('\t'));
  return [
    arrayOf(timestamps(timesMs)),
    ...pointColumns[dataset].map((_, column) => arrayOf(rows.map((row) => row[column] ?? ''))),
  ];
}

/**
 * Parts of a statement over the points of a dataset. @param firstArray place of the first of {@link
 * pointParameters}.
 */
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
    /** Whether the digits differ, even where the numbers are equal. */
    writtenOtherwise: `(${list('i.', '::text')}) is distinct from (${list('s.', '::text')})`,
    object: (from: string, as = '') =>
      `jsonb_build_object(${columns.map((column) => `'${column}', ${from}.${column}${as}`).join(', ')})`,
  };
}
