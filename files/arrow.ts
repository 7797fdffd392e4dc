/**
 * Points as a stream of Arrow: a time, and decimals as DECIMAL(38, 20), the type of a lake. The columns are filled in
 * place, from text, without a JavaScript number, a BigInt or an object for each value.
 */

import { longestNumeric, writeNumeric } from '../model/binary/numeric.ts';
import type { EpochMs } from '../model/intervals.ts';
import { maxDigits, misfitReason, ValueMisfit } from './decimals/decimal-type.ts';
import { toInteger } from './decimals/from-numeric.ts';
import { timeText } from './layout.ts';

const scale = 20;
const digits = { beforePoint: maxDigits - scale, afterPoint: scale };
const wordsOfDecimal = 4;
const quote = 34;

/** A decimal in PostgreSQL's binary form, on its way. A longer one does not fit in any case. */
const numeric = new Uint8Array(2 * longestNumeric);
const words = new Int32Array(wordsOfDecimal);

interface ArrowField {
  readonly name: string;
  /** Whether it may be null. */
  readonly isOptional: boolean;
}

interface DecimalColumn extends ArrowField {
  /** Little-endian, like all of Arrow. */
  readonly words: Int32Array;
  /** A bit for each row, 0: null. */
  readonly valid: Uint8Array;
  nulls: number;
}

export interface ArrowTable {
  /** Names the time column. */
  readonly time: string;
  readonly values: readonly ArrowField[];
  readonly rows: number;
}

export class ArrowPoints {
  readonly #time: string;
  readonly #columns: readonly DecimalColumn[];
  /** The low half of each time in milliseconds, then the high one. */
  readonly #halves: Int32Array;
  #rows = 0;

  constructor({ time, values, rows }: ArrowTable) {
    this.#time = time;
    this.#halves = new Int32Array(2 * rows);
    this.#columns = values.map((field) => ({
      ...field,
      words: new Int32Array(wordsOfDecimal * rows),
      valid: new Uint8Array(Math.ceil(rows / 8)),
      nulls: 0,
    }));
  }

  /**
   * Adds a point.
   *
   * @param text in which a quotation mark follows each decimal. @param starts where each begins, by column; -1: none.
   * @throws ValueMisfit
   */
  take(timeMs: EpochMs, text: Buffer, starts: Int32Array): void {
    const row = this.#rows;
    this.#halves[2 * row] = timeMs;
    this.#halves[2 * row + 1] = Math.floor(timeMs / 0x1_0000_0000);
    for (let place = 0; place < this.#columns.length; place += 1) {
      const column = this.#columns[place];
      const start = starts[place] ?? -1;
      if (column === undefined) continue;
      if (start < 0) {
        if (!column.isOptional) throw new ValueMisfit(`${column.name} of ${timeText(timeMs)} is missing`);
        column.nulls += 1;
        continue;
      }
      const end = writeNumeric(text, start, numeric, 0);
      if (end === start || text[end] !== quote || !toInteger(numeric, 0, digits, words)) {
        const value = text.toString('latin1', start, text.indexOf(quote, start));
        throw new ValueMisfit(`${column.name} of ${timeText(timeMs)} ${misfitReason(value, digits)}`);
      }
      column.words.set(words, wordsOfDecimal * row);
      column.valid[row >> 3] = (column.valid[row >> 3] ?? 0) | (1 << (row & 7));
    }
    this.#rows += 1;
  }

  /** The stream, with all points in one batch. @param metadata of its schema. */
  async end(metadata: ReadonlyMap<string, string>): Promise<Buffer> {
    const arrow = await import('apache-arrow');
    const { Decimal, Field, makeData, Struct, TimestampMillisecond } = arrow;
    const length = this.#rows;
    const time = new TimestampMillisecond('UTC');
    const times = new BigInt64Array(this.#halves.buffer);
    const decimal = new Decimal(scale, maxDigits, 32 * wordsOfDecimal);
    const columns = this.#columns.map(({ name, isOptional, words, valid, nulls }) => ({
      field: new Field(name, decimal, isOptional),
      data: makeData({
        ...{ type: decimal, length, nullCount: nulls, data: new Uint32Array(words.buffer) },
        nullBitmap: nulls === 0 ? null : valid,
      }),
    }));
    const fields = [new Field(this.#time, time, false), ...columns.map(({ field }) => field)];
    const batch = new arrow.RecordBatch(
      new arrow.Schema(fields, new Map(metadata)),
      makeData({
        ...{ type: new Struct(fields), length, nullCount: 0 },
        children: [makeData({ type: time, length, data: times }), ...columns.map(({ data }) => data)],
      }),
    );
    const bytes = arrow.RecordBatchStreamWriter.writeAll([batch]).toUint8Array(true);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}
