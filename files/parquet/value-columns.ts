/**
 * The columns of values of a row group, filled in place: a decimal goes from PostgreSQL's binary form to that of the
 * file without a text, a BigInt or an object between. The slower way from text is for points that come from a file.
 */

import type { SchemaElement } from 'hyparquet';
import { int32At, numericText } from '../../model/binary/numeric.ts';
import { type Digits, fits, misfitReason } from '../decimals/decimal-type.ts';
import { toDouble, toInteger } from '../decimals/from-numeric.ts';
import { unscaled } from '../decimals/text.ts';
import { type FilledColumn, type FixedValues, sharedBytes, type TextValues } from './columns.ts';

/** A column of values, which counts its rows by itself. */
export interface ValueColumn {
  readonly element: SchemaElement;
  /** @param at where the length of a field is. @returns false when the value does not fit. */
  takeField(bytes: Buffer, at: number): boolean;
  /** @returns false when the value does not fit. */
  takeText(value: string | null): boolean;
  /** Why a value does not fit. */
  misfit(value: string | null): string;
  filled(): FilledColumn;
  /** Begins the next row group. */
  clear(): void;
}

abstract class Column implements ValueColumn {
  readonly element: SchemaElement;
  readonly #levels: Uint8Array | null;
  #rows = 0;
  protected count = 0;

  constructor(element: SchemaElement, capacity: number) {
    this.element = element;
    this.#levels = element.repetition_type === 'OPTIONAL' ? sharedBytes(capacity) : null;
  }

  takeField(bytes: Buffer, at: number): boolean {
    if (int32At(bytes, at) < 0) return this.takeText(null);
    return this.putField(bytes, at) && this.#mark(1);
  }

  takeText(value: string | null): boolean {
    if (value === null) return this.#levels !== null && this.#mark(0);
    return this.putText(value) && this.#mark(1);
  }

  #mark(level: 0 | 1): true {
    if (this.#levels !== null) this.#levels[this.#rows] = level;
    this.#rows += 1;
    this.count += level;
    return true;
  }

  filled(): FilledColumn {
    const levels = this.#levels?.subarray(0, this.#rows) ?? null;
    return { element: this.element, rows: this.#rows, levels, nulls: this.#rows - this.count, values: this.values() };
  }

  clear(): void {
    this.#rows = 0;
    this.count = 0;
  }

  misfit(value: string | null): string {
    return value === null ? 'is missing' : this.reason(value);
  }

  /** Puts a value behind the others. */
  protected abstract putField(bytes: Buffer, at: number): boolean;
  protected abstract putText(value: string): boolean;
  protected abstract values(): FilledColumn['values'];
  protected abstract reason(value: string): string;
}

const wordsOfInteger = 4;

/** INT64, or 16 bytes with the most significant first. */
class DecimalColumn extends Column {
  readonly #digits: Digits;
  readonly #width: 8 | 16;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #words = new Int32Array(wordsOfInteger);

  constructor(element: SchemaElement, capacity: number) {
    super(element, capacity);
    const { scale = 0, precision = 0 } = element;
    this.#digits = { afterPoint: scale, beforePoint: precision - scale };
    this.#width = element.type === 'INT64' ? 8 : 16;
    this.#bytes = sharedBytes(capacity * this.#width);
    this.#view = new DataView(this.#bytes.buffer);
  }

  protected putField(bytes: Buffer, at: number): boolean {
    if (!toInteger(bytes, at, this.#digits, this.#words)) return false;
    this.#put();
    return true;
  }

  protected putText(value: string): boolean {
    if (!fits(value, this.#digits)) return false;
    const integer = unscaled(value, this.#digits.afterPoint);
    for (let word = 0; word < wordsOfInteger; word += 1)
      this.#words[word] = Number(BigInt.asIntN(32, integer >> BigInt(32 * word)));
    this.#put();
    return true;
  }

  #put(): void {
    const at = this.count * this.#width;
    const [view, words] = [this.#view, this.#words];
    if (this.#width === 8) {
      view.setInt32(at, words[0] ?? 0, true);
      view.setInt32(at + 4, words[1] ?? 0, true);
    } else {
      view.setInt32(at, words[3] ?? 0);
      view.setInt32(at + 4, words[2] ?? 0);
      view.setInt32(at + 8, words[1] ?? 0);
      view.setInt32(at + 12, words[0] ?? 0);
    }
  }

  protected values(): FixedValues {
    return { kind: 'fixed', bytes: this.#bytes.subarray(0, this.count * this.#width), width: this.#width };
  }

  protected reason(value: string): string {
    return misfitReason(value, this.#digits);
  }
}

/** The nearest doubles. */
class DoubleColumn extends Column {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(element: SchemaElement, capacity: number) {
    super(element, capacity);
    this.#bytes = sharedBytes(8 * capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  protected putField(bytes: Buffer, at: number): boolean {
    return this.#put(toDouble(bytes, at));
  }

  protected putText(value: string): boolean {
    return this.#put(Number(value));
  }

  #put(value: number): boolean {
    if (!Number.isFinite(value)) return false;
    this.#view.setFloat64(8 * this.count, value, true);
    return true;
  }

  protected values(): FixedValues {
    return { kind: 'fixed', bytes: this.#bytes.subarray(0, 8 * this.count), width: 8 };
  }

  protected reason(): string {
    return 'is too large for a double';
  }
}

const sharedBuffer = (length: number) => Buffer.from(sharedBytes(length).buffer);

/** Of a text with its length. Shared memory that is left behind stays long. */
const usualBytes = 20;

/** Decimals that are too long for a DECIMAL. */
class TextColumn extends Column {
  #bytes: Buffer;
  #length = 0;

  constructor(element: SchemaElement, capacity: number) {
    super(element, capacity);
    this.#bytes = sharedBuffer(usualBytes * capacity);
  }

  protected putField(bytes: Buffer, at: number): boolean {
    return this.putText(numericText(bytes, at) ?? '');
  }

  protected putText(value: string): boolean {
    const end = this.#length + 4 + value.length;
    if (end > this.#bytes.length) {
      const before = this.#bytes;
      this.#bytes = sharedBuffer(2 * end);
      before.copy(this.#bytes);
    }
    this.#bytes.writeUInt32LE(value.length, this.#length);
    this.#bytes.write(value, this.#length + 4, 'latin1');
    this.#length = end;
    return true;
  }

  protected values(): TextValues {
    return { kind: 'text', bytes: this.#bytes.subarray(0, this.#length) };
  }

  override clear(): void {
    super.clear();
    this.#length = 0;
  }

  protected reason(value: string): string {
    return `is ${value}`;
  }
}

export function valueColumn(element: SchemaElement, capacity: number): ValueColumn {
  if (element.type === 'DOUBLE') return new DoubleColumn(element, capacity);
  return element.converted_type === 'DECIMAL'
    ? new DecimalColumn(element, capacity)
    : new TextColumn(element, capacity);
}
