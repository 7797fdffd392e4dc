/** The format of a CSV file of any program, whose user names the columns. */

import { parseIsoTime } from '../planning/time-text.ts';
import { type CandleFormat, type Cells, plain, type ReadTime, readTime } from './candle-formats.ts';

export const neededColumns = ['time', 'open', 'high', 'low', 'close', 'volume'] as const;
/** The columns in the file, by their names in its header or all by their numbers from 1 on. */
export type ColumnNames = Readonly<Record<(typeof neededColumns)[number], string>>;

/** Nothing states what a period without a row means, and whether the newest row is final. */
export function formatOfColumns(names: ColumnNames): CandleFormat {
  const [time = 0, ...values] = neededColumns.map((column) => Number(names[column]) - 1);
  const areNumbers = Object.values(names).every((name) => /^[1-9]\d*$/.test(name));
  return {
    ...plain,
    name: '--columns',
    hasAnySeparator: true,
    units: ['seconds', 'milliseconds', 'microseconds', 'nanoseconds', 'dates in UTC'],
    isDescending: null,
    columns: areNumbers ? { count: null, time, values } : null,
    // Such as the address of the vendor.
    isComment: (cells) => cells.filter((cell) => cell !== null).length < neededColumns.length,
    header: (cells) => (areNumbers ? { count: cells.length, time, values } : columnsIn(cells, names)),
    readTime: (text) => readTime(text?.replace(/\.0*$/, '') ?? null) ?? readDate(text),
  };
}

function columnsIn(cells: Cells, names: ColumnNames) {
  const header = cells.map((cell) => cell?.trim().toLowerCase());
  const places = neededColumns.map((column) => header.indexOf(names[column].trim().toLowerCase()));
  const [time = 0, ...values] = places;
  return places.includes(-1) ? null : { count: cells.length, time, values };
}

/** A date of ISO 8601, with or without a time. It is UTC unless it states another offset. */
function readDate(text: string | null): ReadTime | null {
  const iso =
    text
      ?.trim()
      .replace(/\.0+(?=\D|$)/, '')
      .replace(/ ?UTC$/, 'Z') ?? '';
  const ms = iso.includes('-') ? parseIsoTime(iso) : null;
  return ms === null ? null : { unit: 'dates in UTC', ms };
}
