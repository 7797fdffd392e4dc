/** The format of a CSV file of any program, whose user names the columns. */

import { parseWrittenTime } from '../model/time-text.ts';
import { type CandleFormat, type Cells, type Columns, plain, type ReadTime, readTime } from './candle-formats.ts';

export const neededColumns = ['time', 'open', 'high', 'low', 'close', 'volume'] as const;
/** The volume in the quote asset, which is compared with the other one and not stored. */
export const furtherColumn = 'turnover';
/** The columns in the file, by their names in its header or all by their numbers from 1 on. */
export type ColumnNames = Readonly<
  Record<(typeof neededColumns)[number], string> & Partial<Record<typeof furtherColumn, string>>
>;

/** Nothing states what a period without a row means, and whether the newest row is final. */
export function formatOfColumns(names: ColumnNames): CandleFormat {
  const byNumber = (count: number | null): Columns =>
    placed(
      count,
      placesOf(names, (name) => Number(name) - 1),
    );
  const areNumbers = Object.values(names).every((name) => /^[1-9]\d*$/.test(name));
  return {
    ...plain,
    name: '--columns',
    hasAnySeparator: true,
    units: ['seconds', 'milliseconds', 'microseconds', 'nanoseconds', 'dates in UTC'],
    isDescending: null,
    columns: areNumbers ? byNumber(null) : null,
    // Such as the address of the vendor.
    isComment: (cells) => cells.filter((cell) => cell !== null).length < neededColumns.length,
    header: (cells) => (areNumbers ? byNumber(cells.length) : columnsIn(cells, names)),
    readTime: (text) => readTime(text) ?? readDate(text),
  };
}

function columnsIn(cells: Cells, names: ColumnNames): Columns | null {
  const header = cells.map((cell) => cell?.toLowerCase());
  const places = placesOf(names, (name) => header.indexOf(name.trim().toLowerCase()));
  return places.includes(-1) ? null : placed(cells.length, places);
}

/** In the order of {@link neededColumns}, and then that of {@link furtherColumn} if it is named. */
function placesOf(names: ColumnNames, placeOf: (name: string) => number): number[] {
  const { [furtherColumn]: further } = names;
  return [...neededColumns.map((column) => names[column]), ...(further === undefined ? [] : [further])].map(placeOf);
}

function placed(count: number | null, places: readonly number[]): Columns {
  const [time = 0, ...others] = places;
  const [values, [turnover]] = [others.slice(0, 5), others.slice(5)];
  return { count, time, values, ...(turnover === undefined ? {} : { turnover }) };
}

/** A date of ISO 8601, with or without a time. It is UTC unless it states another offset. */
function readDate(text: string | null): ReadTime | null {
  const ms = text === null ? null : parseWrittenTime(text);
  return ms === null ? null : { unit: 'dates in UTC', ms };
}
