/**
 * Reads the lines of CSV that `export` writes: the names of the line before, a time in whole seconds, decimals without
 * an exponent. No quotes, and no zeros before a digit: each is the shortest text of its value, which gives it back. Any
 * other line is left to the caller.
 */

import { isZeroAt, sizeAt, writeNull, writeNumeric } from '../model/binary/numeric.ts';
import { datasets } from '../model/datasets/index.ts';
import { longestDecimal } from '../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, minuteMs } from '../model/intervals.ts';
import type { StoredDataset } from '../model/stored-datasets.ts';
import { columnsOf, type Layout, type Names } from './layout.ts';
import type { PageCollector } from './point-pages.ts';

const [newline, carriageReturn, comma, minus, zero, nine, colon] = [10, 13, 44, 45, 48, 57, 58] as const;
const [letterT, letterZ] = [84, 90] as const;
/** `2024-01-31T06:00:00Z` */
const timeLength = 20;
const leastYear = 1000;
/** What has a meaning in CSV. */
const special = /[",\r\n]/;

/**
 * Reads lines into the pages.
 *
 * @param header of the file. @returns null if its lines have another form: rates, or columns in another order.
 */
export function csvPoints(layout: Layout, header: readonly string[], pages: PageCollector): CsvPoints | null {
  const { dataset } = layout;
  const inOrder = columnsOf(layout).filter((name) => header.includes(name));
  if (dataset === 'rates' || inOrder.join() !== header.join()) return null;
  return new CsvPoints(dataset, new Set(header), pages);
}

export class CsvPoints {
  readonly #pages: PageCollector;
  /** By column of the dataset. */
  readonly #isPresent: readonly boolean[];
  readonly #isOptional: readonly boolean[];
  readonly #last: number;
  /** The names of the pages as they stand in the file; null: in quotes, or none yet. */
  #prefix: Buffer | null = null;
  #date = -1;
  #dateMs = 0;
  #timeMs = 0;

  constructor(dataset: Exclude<StoredDataset, 'rates'>, columns: ReadonlySet<string>, pages: PageCollector) {
    const all: ReadonlyArray<{ readonly name: string; readonly isOptional?: boolean }> = datasets[dataset].columns;
    this.#pages = pages;
    this.#isPresent = all.map(({ name }) => columns.has(name));
    this.#isOptional = all.map(({ isOptional = false }) => isOptional);
    this.#last = this.#isPresent.lastIndexOf(true);
  }

  /** Expects lines with these names from now on. @returns whether such lines were not read so far. */
  expect(names: Names): boolean {
    const known = this.#pages.names;
    if (names.length === known.length && names.every((name, place) => name === known[place])) return false;
    this.#pages.names = names;
    const isPlain = names.every((name) => name !== null && name !== '' && !special.test(name));
    this.#prefix = isPlain ? Buffer.from(`${names.join()},`) : null;
    return isPlain;
  }

  /** Reads the line that starts here, and ends with a line feed. @returns where the next one starts; -1: unread. */
  readLine(bytes: Buffer, from: number, line: number): number {
    const prefix = this.#prefix;
    if (prefix === null) return -1;
    let at = from;
    for (let place = 0; place < prefix.length; place += 1) if (bytes[at++] !== prefix[place]) return -1;
    if (!this.#readTime(bytes, at)) return -1;
    at += timeLength;
    let end = this.#pages.begin(this.#timeMs);
    const tuples = this.#pages.bytes;
    for (let column = 0; column < this.#isPresent.length; column += 1) {
      if (!this.#isPresent[column]) {
        end = writeNull(tuples, end);
        continue;
      }
      if (bytes[at] !== comma) return -1;
      const start = at + 1;
      at = writeNumeric(bytes, start, tuples, end);
      if (at > start) {
        if (!isShortest(bytes, start, at, isZeroAt(tuples, end))) return -1;
        end += sizeAt(tuples, end);
      } else if (this.#isOptional[column] && isEnd(bytes[at], column === this.#last)) end = writeNull(tuples, end);
      else return -1;
    }
    if (bytes[at] === carriageReturn) at += 1;
    if (bytes[at] !== newline) return -1;
    this.#pages.keep(this.#timeMs, end, line);
    return at + 1;
  }

  #readTime(bytes: Buffer, at: number): boolean {
    const year = 100 * pair(bytes, at) + pair(bytes, at + 2);
    const [month, day] = [pair(bytes, at + 5), pair(bytes, at + 8)];
    const [hours, minutes, seconds] = [pair(bytes, at + 11), pair(bytes, at + 14), pair(bytes, at + 17)];
    const isForm =
      bytes[at + 4] === minus &&
      bytes[at + 7] === minus &&
      bytes[at + 10] === letterT &&
      bytes[at + 13] === colon &&
      bytes[at + 16] === colon &&
      bytes[at + 19] === letterZ;
    // None of a pair that is no number.
    if (!isForm || !(hours < 24 && minutes < 60 && seconds < 60)) return false;
    const date = (year * 100 + month) * 100 + day;
    if (date !== this.#date) {
      const startMs = dateMs(year, month, day);
      if (startMs === null) return false;
      this.#date = date;
      this.#dateMs = startMs;
    }
    this.#timeMs = this.#dateMs + hours * hourMs + minutes * minuteMs + seconds * 1000;
    return true;
  }
}

/** NaN if it is not two digits. */
function pair(bytes: Buffer, at: number): number {
  const [tens, ones] = [(bytes[at] ?? 0) - zero, (bytes[at + 1] ?? 0) - zero];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : Number.NaN;
}

/** The start of a day; null: there is no such day. */
function dateMs(year: number, month: number, day: number): EpochMs | null {
  // `Date.UTC` takes a year before 100 for one of the twentieth century.
  if (!(year >= leastYear)) return null;
  const startMs = Date.UTC(year, month - 1, day);
  const isDay = Math.floor(startMs / dayMs) * dayMs === startMs && new Date(startMs).getUTCDate() === day;
  return isDay && month >= 1 && month <= 12 ? startMs : null;
}

/** Whether a decimal has no zeros before a digit, and no sign of a zero. */
function isShortest(bytes: Buffer, start: number, end: number, isZero: boolean): boolean {
  const isNegative = bytes[start] === minus;
  const first = isNegative ? start + 1 : start;
  const next = bytes[first + 1] ?? 0;
  if (end - start > longestDecimal || (isNegative && isZero)) return false;
  return bytes[first] !== zero || !(next >= zero && next <= nine);
}

const isEnd = (byte: number | undefined, isLast: boolean) =>
  isLast ? byte === newline || byte === carriageReturn : byte === comma;
