/** The columns of a row group as they are written, and those of its times and of texts that many rows have. */

import type { SchemaElement } from 'hyparquet';
import type { EpochMs } from '../../model/intervals.ts';

/** Memory that the thread of `encoder.ts` reads in place. */
export const sharedBytes = (length: number) => new Uint8Array(new SharedArrayBuffer(length));

/** What there is to write of a column. */
export interface FilledColumn {
  readonly element: SchemaElement;
  readonly rows: number;
  /** 1 for each row that has a value, else 0; null: all have one. */
  readonly levels: Uint8Array | null;
  readonly nulls: number;
  readonly values: FixedValues | TextValues | DictionaryValues;
}

/** As PLAIN has them, whole words. */
export interface FixedValues {
  readonly kind: 'fixed';
  readonly bytes: Uint8Array;
  readonly width: 8 | 16;
}

/** As PLAIN has them: each after its length. */
export interface TextValues {
  readonly kind: 'text';
  readonly bytes: Uint8Array;
}

export interface DictionaryValues {
  readonly kind: 'dictionary';
  readonly texts: readonly string[];
  /** The places of the values in it. */
  readonly indexes: Uint32Array;
}

/** Milliseconds or microseconds, as INT64. */
export class TimeColumn {
  readonly #element: SchemaElement;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #hasMicros: boolean;
  #rows = 0;

  constructor(element: SchemaElement, capacity: number) {
    this.#element = element;
    this.#hasMicros = element.converted_type === 'TIMESTAMP_MICROS';
    this.#bytes = sharedBytes(8 * capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  take(timeMs: EpochMs): void {
    const at = 8 * this.#rows;
    // After the year 2255 a number does not hold its microseconds.
    if (this.#hasMicros) this.#view.setBigInt64(at, BigInt(timeMs) * 1000n, true);
    else {
      this.#view.setUint32(at, timeMs, true);
      this.#view.setInt32(at + 4, Math.floor(timeMs / 0x1_0000_0000), true);
    }
    this.#rows += 1;
  }

  filled(): FilledColumn {
    const bytes = this.#bytes.subarray(0, 8 * this.#rows);
    return {
      ...{ element: this.#element, rows: this.#rows, levels: null, nulls: 0 },
      values: { kind: 'fixed', bytes, width: 8 },
    };
  }

  clear(): void {
    this.#rows = 0;
  }
}

/** A column of few texts, each for many rows. */
export class RepeatedTexts {
  readonly #element: SchemaElement;
  readonly #indexes: Uint32Array;
  readonly #places = new Map<string, number>();
  #text: string | null = null;
  /** The place of the text; null: no row has taken it yet. */
  #place: number | null = null;
  readonly #levels: Uint8Array | null;
  #rows = 0;
  #count = 0;

  constructor(element: SchemaElement, capacity: number) {
    this.#element = element;
    this.#indexes = new Uint32Array(sharedBytes(4 * capacity).buffer);
    this.#levels = element.repetition_type === 'OPTIONAL' ? sharedBytes(capacity) : null;
  }

  /** The text of the rows that follow; null: they have none. */
  set(text: string | null): void {
    this.#text = text;
    this.#place = null;
  }

  /** Rows that have it. */
  take(rows: number): void {
    if (rows === 0) return;
    this.#levels?.fill(this.#text === null ? 0 : 1, this.#rows, this.#rows + rows);
    this.#rows += rows;
    if (this.#text === null) return;
    this.#place ??= this.#placeOf(this.#text);
    if (rows === 1) this.#indexes[this.#count] = this.#place;
    else this.#indexes.fill(this.#place, this.#count, this.#count + rows);
    this.#count += rows;
  }

  #placeOf(text: string): number {
    const place = this.#places.get(text) ?? this.#places.size;
    this.#places.set(text, place);
    return place;
  }

  filled(): FilledColumn {
    const texts = [...this.#places.keys()];
    const levels = this.#levels?.subarray(0, this.#rows) ?? null;
    const values = { kind: 'dictionary', texts, indexes: this.#indexes.subarray(0, this.#count) } as const;
    return { element: this.#element, rows: this.#rows, levels, nulls: this.#rows - this.#count, values };
  }

  /** Begins the next row group, with the same text. */
  clear(): void {
    this.#places.clear();
    this.#place = null;
    this.#rows = 0;
    this.#count = 0;
  }
}
