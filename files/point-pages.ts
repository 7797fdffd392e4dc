/**
 * Pages of a file. Points whose bytes are of the usual form are read into tuples, without an object for each; any other
 * row is read by itself.
 */

import { longestNumeric } from '../model/binary/numeric.ts';
import { type Tuples, tupleHead, valuesOf, writeTupleHead } from '../model/binary/tuples.ts';
import type { EpochMs } from '../model/intervals.ts';
import type { FileRow, Layout, Names, ReadRow } from './layout.ts';

/** Adjacent rows with the same names. Their times are times, and their values decimals. */
export interface PointPage {
  readonly names: Names;
  readonly tuples: Tuples;
  /** Where each row stands: the number of its `unit`. */
  readonly numbers: Int32Array;
  readonly unit: 'line' | 'row';
}

export type FilePage = PointPage | readonly ReadRow[];

export interface RowFile {
  readonly layout: Layout;
  /** Absent: unknown before they are read. */
  readonly rows?: number;
  /** Some thousand rows each, so that memory is bounded. A page is valid until the next one is asked for. */
  pages(): AsyncGenerator<FilePage>;
}

export const isPoints = (page: FilePage): page is PointPage => 'tuples' in page;

export const lengthOf = (page: FilePage): number => (isPoints(page) ? page.tuples.length : page.length);

export function rowOfPage({ names, tuples, numbers, unit }: PointPage, row: number): FileRow {
  const time = tuples.timesMs[row] ?? null;
  return { names, time, values: valuesOf(tuples, row), place: `${unit} ${numbers[row]}` };
}

export function rowsOf(page: FilePage): readonly ReadRow[] {
  if (!isPoints(page)) return page;
  return Array.from(page.numbers, (_, row) => rowOfPage(page, row));
}

const fewestBytes = 1 << 12;

/** Collects the pages of a file, in the order of its rows. The caller writes the values of tuples. */
export class PageCollector {
  readonly #unit: PointPage['unit'];
  readonly #columns: number;
  readonly #longest: number;
  readonly #done: FilePage[] = [];
  /** Rows since the last tuple. */
  #rows: ReadRow[] = [];
  #names: Names = [];
  /** A tuple is written here. */
  bytes: Buffer;
  #end = 0;
  #isTaken = false;
  #timesMs = new Float64Array(256);
  #at = new Int32Array(257);
  #numbers = new Int32Array(256);
  /** Tuples since the last other row, or other names. */
  #length = 0;

  constructor({ values }: Pick<Layout, 'values'>, unit: PointPage['unit'], bytes = fewestBytes) {
    this.#unit = unit;
    this.#columns = values.length;
    this.#longest = tupleHead + this.#columns * longestNumeric;
    this.bytes = Buffer.allocUnsafe(Math.max(bytes, this.#longest));
  }

  get names(): Names {
    return this.#names;
  }

  /** Of the tuples from now on. */
  set names(names: Names) {
    this.#cutTuples();
    this.#names = names;
  }

  addRow(row: ReadRow): void {
    this.#cutTuples();
    this.#rows.push(row);
  }

  /** Makes room for a tuple, and writes what stands before its values. @returns where they begin in `bytes`. */
  begin(timeMs: EpochMs): number {
    if (this.#isTaken) this.#end = 0;
    this.#isTaken = false;
    if (this.#end + this.#longest > this.bytes.length) this.#moveOn();
    return writeTupleHead(this.bytes, this.#end, { columns: this.#columns, seriesId: 0, timeMs });
  }

  /** Keeps the tuple that was begun last. @param end of its values. @param number of its row. */
  keep(timeMs: EpochMs, end: number, number: number): void {
    if (this.#rows.length > 0) this.#cutRows();
    if (this.#length === this.#timesMs.length) this.#grow();
    this.#timesMs[this.#length] = timeMs;
    this.#numbers[this.#length] = number;
    this.#at[this.#length] = this.#end;
    this.#length += 1;
    this.#end = end;
  }

  /** Everything since the last call. Later tuples replace it: memory stays the same, however long the file is. */
  take(): FilePage[] {
    this.#isTaken = true;
    this.#cutTuples();
    this.#cutRows();
    return this.#done.splice(0);
  }

  #cutRows(): void {
    if (this.#rows.length > 0) this.#done.push(this.#rows);
    this.#rows = [];
  }

  #cutTuples(): void {
    const length = this.#length;
    if (length === 0) return;
    this.#at[length] = this.#end;
    this.#done.push({
      names: this.#names,
      tuples: {
        ...{ length, timesMs: this.#timesMs.slice(0, length) },
        ...{ bytes: this.bytes, at: this.#at.slice(0, length + 1) },
      },
      numbers: this.#numbers.slice(0, length),
      unit: this.#unit,
    });
    this.#length = 0;
  }

  /** Goes on in other bytes: those before are in pages that are not taken yet. */
  #moveOn(): void {
    const from = this.#length === 0 ? this.#end : (this.#at[0] ?? 0);
    const kept = this.#end - from;
    const bytes = Buffer.allocUnsafe(Math.max(this.bytes.length, 2 * (kept + this.#longest)));
    this.bytes.copy(bytes, 0, from, this.#end);
    for (let row = 0; row < this.#length; row += 1) this.#at[row] = (this.#at[row] ?? 0) - from;
    this.bytes = bytes;
    this.#end = kept;
  }

  #grow(): void {
    const [timesMs, at, numbers] = [this.#timesMs, this.#at, this.#numbers];
    this.#timesMs = new Float64Array(2 * timesMs.length);
    this.#at = new Int32Array(2 * timesMs.length + 1);
    this.#numbers = new Int32Array(2 * timesMs.length);
    this.#timesMs.set(timesMs);
    this.#at.set(at);
    this.#numbers.set(numbers);
  }
}
