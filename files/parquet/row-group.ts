/**
 * The columns of a row group, filled in place from COPY, and again for another row group once they are encoded. No
 * decimal passes through a double.
 */

import { int32At, numericText, sizeAt } from '../../model/binary/numeric.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { timeAt } from '../copied-tuples.ts';
import { ValueMisfit } from '../decimals/decimal-type.ts';
import { scaleOf } from '../decimals/from-numeric.ts';
import { fractionDigitsOf } from '../decimals/text.ts';
import { type Names, type Point, timeText } from '../layout.ts';
import { type FilledColumn, RepeatedTexts, TimeColumn } from './columns.ts';
import { type Columns, parquetSchema } from './schema.ts';
import { type ValueColumn, valueColumn } from './value-columns.ts';

export class RowGroup {
  readonly #capacity: number;
  readonly #names: readonly RepeatedTexts[];
  readonly #time: TimeColumn;
  readonly #values: readonly ValueColumn[];
  /** None, or one for each of the values. */
  readonly #doubles: readonly ValueColumn[];
  readonly #fractionDigits: RepeatedTexts;
  /** Those of the values of the row before. */
  readonly #scales: number[];
  /** Rows, and those of them whose names are taken. */
  #rows = 0;
  #named = 0;

  /** @param capacity rows that it can have. */
  constructor(columns: Columns, capacity: number) {
    this.#capacity = capacity;
    const { layout, hasDoubles = false } = columns;
    // In the order of the file.
    const elements = parquetSchema(columns).slice(1);
    const next = () => {
      const element = elements.shift();
      if (element === undefined) throw new RangeError('no more columns');
      return element;
    };
    const values = () => layout.values.map(() => valueColumn(next(), capacity));
    this.#names = layout.names.map(() => new RepeatedTexts(next(), capacity));
    this.#time = new TimeColumn(next(), capacity);
    this.#values = values();
    this.#fractionDigits = new RepeatedTexts(next(), capacity);
    this.#doubles = hasDoubles ? values() : [];
    this.#scales = layout.values.map(() => -1);
  }

  get rows(): number {
    return this.#rows;
  }

  get isFull(): boolean {
    return this.#rows === this.#capacity;
  }

  /** The names of the rows that follow. */
  begin(names: Names): void {
    this.#takeNames();
    for (const [place, column] of this.#names.entries()) column.set(names[place] ?? null);
  }

  /** Adds a tuple of COPY. @param at where the length of its time is. @throws ValueMisfit */
  take(bytes: Buffer, at: number): void {
    const timeMs = timeAt(bytes, at + 4);
    let field = at + 12;
    let isOther = false;
    for (let place = 0; place < this.#values.length; place += 1) {
      const column = this.#values[place];
      if (column?.takeField(bytes, field) === false) throw misfitOf(column, timeMs, numericText(bytes, field));
      const double = this.#doubles[place];
      if (double?.takeField(bytes, field) === false) throw misfitOf(double, timeMs, numericText(bytes, field));
      const scale = int32At(bytes, field) < 0 ? 0 : scaleOf(bytes, field);
      if (this.#scales[place] !== scale) {
        this.#scales[place] = scale;
        isOther = true;
      }
      field += sizeAt(bytes, field);
    }
    this.#end(timeMs, isOther);
  }

  /** Adds a point whose values are text. @throws ValueMisfit */
  takeText({ timeMs, values }: Point): void {
    for (let place = 0; place < this.#values.length; place += 1) {
      const value = values[place] ?? null;
      for (const column of [this.#values[place], this.#doubles[place]])
        if (column?.takeText(value) === false) throw misfitOf(column, timeMs, value);
      this.#scales[place] = fractionDigitsOf(value ?? '');
    }
    this.#end(timeMs, true);
  }

  #end(timeMs: EpochMs, hasOtherScales: boolean): void {
    this.#time.take(timeMs);
    if (hasOtherScales) this.#fractionDigits.set(this.#scales.join(' '));
    this.#fractionDigits.take(1);
    this.#rows += 1;
  }

  #takeNames(): void {
    for (const column of this.#names) column.take(this.#rows - this.#named);
    this.#named = this.#rows;
  }

  #columns() {
    return [...this.#names, this.#time, ...this.#values, this.#fractionDigits, ...this.#doubles];
  }

  /** In the order of the file. Their memory is that of this group. */
  filled(): FilledColumn[] {
    this.#takeNames();
    return this.#columns().map((column) => column.filled());
  }

  /** Begins another one, whatever the state of this one. The names stay. */
  clear(): void {
    for (const column of this.#columns()) column.clear();
    this.#scales.fill(-1);
    this.#rows = 0;
    this.#named = 0;
  }
}

function misfitOf(column: ValueColumn, timeMs: EpochMs, value: string | null): ValueMisfit {
  return new ValueMisfit(`${column.element.name} of ${timeText(timeMs)} ${column.misfit(value)}`);
}
