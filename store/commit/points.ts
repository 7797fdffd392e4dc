/**
 * The points of a window, as lines of COPY's text format and as parameters of statements.
 *
 * Points wait for their commit as one buffer of lines. As tens of thousands of small strings, every garbage
 * collection in between would copy them.
 */

import { type CandleLines, isCandleLines } from '../../contract/candle-lines.ts';
import type { EpochMs } from '../../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../../contract/resources.ts';
import { arrayOf, timestampFormat } from '../db/database.ts';

export interface PointLines {
  readonly dataset: 'candles' | 'asset_history';
  readonly timesMs: readonly EpochMs[];
  /** One line a point: series, time and decimals, separated by tabs. None of them needs escaping. */
  readonly lines: Buffer;
}

export type PointRows = ReadonlyArray<Candle | HistoryPoint> | CandleLines;

/** @param places of the rows to take, ascending in time, each time once; null: all of them, which are so. */
export function pointLines(
  dataset: PointLines['dataset'],
  seriesId: number,
  rows: PointRows,
  places: readonly number[] | null = null,
): PointLines {
  const allMs = timesOf(rows);
  const timesMs = places === null ? allMs : places.map((place) => allMs[place] ?? Number.NaN);
  const format = timestampFormat();
  const startOf = (timeMs: EpochMs) => `${seriesId}\t${format(timeMs)}\t`;
  return {
    dataset,
    timesMs,
    lines: isCandleLines(rows)
      ? withStarts(timesMs, startOf, rows, places)
      : toBuffer(
          timesMs.map(
            (timeMs, number) => `${startOf(timeMs)}${valuesOf(rows[places?.[number] ?? number])}\n`,
          ),
        ),
  };
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

/** Characters of a series and a time, with their tabs, at most. */
const longestStart = 48;

function withStarts(
  timesMs: readonly EpochMs[],
  startOf: (timeMs: EpochMs) => string,
  { text, ends }: CandleLines,
  places: readonly number[] | null,
): Buffer {
  const lines = Buffer.allocUnsafe(text.length + timesMs.length * longestStart);
  let at = 0;
  for (const [number, timeMs] of timesMs.entries()) {
    const place = places?.[number] ?? number;
    at += lines.write(startOf(timeMs), at, 'latin1');
    at += text.copy(lines, at, ends[place - 1] ?? 0, ends[place]);
  }
  return lines.subarray(0, at);
}

/** Splits the lines into columns, without the series. */
function parseColumns({ lines }: PointLines): string[][] {
  const rows = lines
    .toString('latin1')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  return (rows[0] ?? []).slice(1).map((_, column) => rows.map((row) => row[column + 1] ?? ''));
}

/** Writes line by line: joining all lines into one string first costs more. */
function toBuffer(lines: readonly string[]): Buffer {
  let bytes = 0;
  for (const line of lines) bytes += line.length;
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const line of lines) at += buffer.write(line, at, 'latin1');
  return buffer;
}

export const pointTables = Object.freeze({ candles: 'candle_points', asset_history: 'asset_history_points' });
/** The value columns, in the order of the lines. */
export const pointColumns = Object.freeze({
  candles: ['open', 'high', 'low', 'close', 'volume'],
  asset_history: ['price_usd'],
});

/** Parameters: the times, then each value column. Works without points too. */
export function pointParameters(points: PointLines): string[] {
  const columns = points.timesMs.length === 0 ? [] : parseColumns(points);
  return ['time', ...pointColumns[points.dataset]].map((_, place) => arrayOf(columns[place] ?? []));
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
