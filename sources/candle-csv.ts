/**
 * Reads candles from CSV, byte by byte: in a fraction of a pattern's time, and without an object or a copy of each. A
 * line that is not as venues write it (a sign, an exponent, impossible values) is left to the caller.
 */

import { datasets } from '../model/datasets/index.ts';
import type { DecimalText } from '../model/decimal.ts';
import { type Interval, isOnGrid } from '../model/intervals.ts';
import { collectPoints } from '../model/point-lines.ts';
import type { Range } from '../model/ranges.ts';
import { turnoverProblem } from '../model/turnover.ts';
import { arePossible, decimalAt, newPlaces, scanDecimal } from './scan.ts';

/** Lines of time, open, high, low, close, volume, and other columns. */
export interface CsvForm {
  readonly columns: number;
  /** Place of the volume in the quote asset; absent: there is none. */
  readonly turnoverColumn?: number;
  /** Digits of a UNIX time: 13 in milliseconds, 16 in microseconds. */
  readonly timeDigits: 13 | 16;
  readonly interval: Interval;
  /** Lines of other times are left out. */
  readonly range: Range;
}

const [newline, comma, zero] = [10, 44, 48] as const;
const decimals = datasets.candles.columns.length;
/** Size of a piece. */
const pieceBytes = 1 << 18;

/** Reads a file, and takes single candles; ends with all of them. */
export function candleCsv(file: Buffer, form: CsvForm) {
  const { columns, turnoverColumn, timeDigits, interval, range } = form;
  const points = collectPoints('candles', file);
  const row = newPlaces(decimals);

  /**
   * @returns the end of a line whose other columns start here: decimals of a candle, and some that are not read; -1 of
   * another.
   */
  function scanColumns(from: number): number {
    let at = from;
    for (let column = 0; column < decimals; column += 1) {
      at = scanDecimal(file, at, row, column);
      if (at < 0 || file[at] !== comma) return -1;
      at += 1;
    }
    let commas = decimals + 1;
    let turnoverAt = at;
    let turnoverEnd = at;
    for (; at < file.length; at += 1) {
      const byte = file[at];
      if (byte === newline) break;
      if (byte !== comma) continue;
      if (commas === turnoverColumn) turnoverEnd = at;
      commas += 1;
      if (commas === turnoverColumn) turnoverAt = at + 1;
    }
    if (commas !== columns - 1 || !arePossible.candles(file, row)) return -1;
    if (turnoverColumn === undefined) return at;
    const turnover = file.toString('latin1', turnoverAt, turnoverEnd) as DecimalText;
    return turnoverProblem({ low: textOf(2), high: textOf(1), volume: textOf(4), turnover }) === null ? at : -1;
  }

  /** Of the columns open, high, low, close, volume. */
  const textOf = (column: number) => decimalAt(file, row, column);

  /** Reads the line that starts here. @returns its end. */
  function readLine(from: number, others: string[]): number {
    const timeMs = readTime(file, from, timeDigits);
    const start = from + timeDigits + 1;
    const end = isOnGrid(timeMs, interval) ? scanColumns(start) : -1;
    if (end === -1) {
      const found = file.indexOf(newline, from);
      const otherEnd = found === -1 ? file.length : found;
      others.push(file.toString('latin1', from, otherEnd));
      return otherEnd;
    }
    if (timeMs >= range.startMs && timeMs < range.endMs) points.keep(timeMs, row.starts);
    return end;
  }

  /** Reads whole lines from here up to the end of a piece. @returns where the next piece starts. */
  function readPiece(start: number, others: string[]): number {
    const until = Math.min(start + pieceBytes, file.length);
    let from = start;
    while (from < until) from = readLine(from, others) + 1;
    return from;
  }

  return {
    /**
     * Reads the file in pieces, so that the thread is not busy for long.
     *
     * @returns the lines of another form of each.
     */
    *read(): Generator<string[]> {
      for (let from = 0; from < file.length; ) {
        const others: string[] = [];
        from = readPiece(from, others);
        yield others;
      }
    },
    /** Adds a candle that was read otherwise. */
    add: points.add,
    end: points.end,
  };
}

/** @returns milliseconds; NaN for anything but so many digits and a comma. */
function readTime(bytes: Buffer, from: number, digits: CsvForm['timeDigits']): number {
  let time = 0;
  for (let at = from; at < from + digits; at += 1) {
    const digit = (bytes[at] ?? 0) - zero;
    if (digit < 0 || digit > 9) return Number.NaN;
    time = time * 10 + digit;
  }
  return bytes[from + digits] === comma ? time / (digits === 16 ? 1000 : 1) : Number.NaN;
}
