/**
 * Writes Parquet by row groups. Memory holds one row group and a few hundred bytes per written one. No decimal passes
 * through a double.
 */

import type { SchemaElement } from 'hyparquet';
import { int32At, numericText, sizeAt } from '../../model/binary/numeric.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { timeAt, tupleReader } from '../copied-tuples.ts';
import { ValueMisfit } from '../decimals/decimal-type.ts';
import { scaleOf } from '../decimals/from-numeric.ts';
import { fractionDigitsOf } from '../decimals/text.ts';
import { type Names, type Output, type Point, type RowWriter, timeText } from '../layout.ts';
import { RepeatedTexts, TimeColumn } from './columns.ts';
import { type ColumnStatistics, loadCompression, openPages, type PagesWriter } from './pages.ts';
import { type Columns, doubleEnding, fractionDigits, parquetSchema } from './schema.ts';
import { type ValueColumn, valueColumn } from './value-columns.ts';

const mostOfGroup = 50_000;

export interface ParquetFormat extends Columns {
  readonly output: Output;
  /** Absent: as many as memory and readers like. */
  readonly rowsOfGroup?: number;
}

/** A file of Parquet. {@link loadCompression} comes first. */
export class ParquetRows implements RowWriter {
  readonly takes = 'binary';
  readonly #rowsOfGroup: number;
  readonly #pages: PagesWriter;
  readonly #names: readonly RepeatedTexts[];
  readonly #time: TimeColumn;
  readonly #values: readonly ValueColumn[];
  /** None, or one for each of the values. */
  readonly #doubles: readonly ValueColumn[];
  readonly #fractionDigits: RepeatedTexts;
  /** Those of the values of the row before. */
  readonly #scales: number[];
  /** Rows of this group, and those of them whose names are taken. */
  #rows = 0;
  #named = 0;

  constructor({ output, rowsOfGroup = mostOfGroup, ...columns }: ParquetFormat) {
    const { layout, hasDoubles = false } = columns;
    this.#rowsOfGroup = Math.min(mostOfGroup, rowsOfGroup);
    const pages = openPages(parquetSchema(columns), output);
    this.#pages = pages;
    const element = (name: string): SchemaElement => {
      const found = pages.elements.find((one) => one.name === name);
      if (found === undefined) throw new RangeError(`no column ${name}`);
      return found;
    };
    const values = (ending: string) =>
      layout.values.map((name) => valueColumn(element(name + ending), this.#rowsOfGroup));
    this.#names = layout.names.map((name) => new RepeatedTexts(element(name), this.#rowsOfGroup));
    this.#time = new TimeColumn(element('time'), this.#rowsOfGroup);
    this.#values = values('');
    this.#doubles = hasDoubles ? values(doubleEnding) : [];
    this.#fractionDigits = new RepeatedTexts(element(fractionDigits), this.#rowsOfGroup);
    this.#scales = layout.values.map(() => -1);
  }

  async writeSeries(names: Names, copied: AsyncIterable<Buffer>, onRows: (rows: number) => void): Promise<void> {
    this.begin(names);
    const read = tupleReader(1 + this.#values.length, (bytes, at) => this.take(bytes, at));
    for await (const piece of copied) {
      onRows(read(piece));
      await this.#pages.flush();
    }
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
    if (this.#rows === this.#rowsOfGroup) this.#encode();
  }

  #takeNames(): void {
    for (const column of this.#names) column.take(this.#rows - this.#named);
    this.#named = this.#rows;
  }

  #encode(): void {
    this.#takeNames();
    const columns = [...this.#names, this.#time, ...this.#values, this.#fractionDigits, ...this.#doubles];
    this.#pages.add(columns.map((column) => column.filled()));
    for (const column of columns) column.clear();
    this.#rows = 0;
    this.#named = 0;
  }

  async end(): Promise<void> {
    if (this.#rows > 0) this.#encode();
    await this.#pages.finish();
  }

  get elements(): readonly SchemaElement[] {
    return this.#pages.elements;
  }

  /** Of the columns of each written row group, in the order of the file. */
  statistics(): ReadonlyArray<readonly ColumnStatistics[]> {
    return this.#pages.statistics();
  }
}

function misfitOf(column: ValueColumn, timeMs: EpochMs, value: string | null): ValueMisfit {
  return new ValueMisfit(`${column.element.name} of ${timeText(timeMs)} ${column.misfit(value)}`);
}

export async function openParquetRows(format: ParquetFormat): Promise<ParquetRows> {
  await loadCompression();
  return new ParquetRows(format);
}
