/**
 * Writes Parquet by row groups. Memory holds one row group and a few hundred bytes per written one. hyparquet-writer
 * takes decimals as the stored integers, so none passes through a double.
 *
 * The columns of a Parquet file. A value column is a DECIMAL that holds each value exactly, with up to 38 digits.
 * Beyond that it is text, because readers such as DuckDB convert a longer DECIMAL to a double.
 *
 * All values of a DECIMAL column have the same scale, so `1.10` and `1.1` are equal. The column `fraction_digits` keeps
 * the received number of digits per value (`16 16 16 16 18`; of an absent value 0). It has few distinct texts and
 * compresses well.
 */

import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Layout, Output, Rows, RowWriter } from './layout.ts';

/** Maximum digits of the values of a column. */
export interface Digits {
  readonly beforePoint: number;
  /** Without trailing zeros. */
  readonly afterPoint: number;
}

/** The column with the fraction digits per value of a row. */
export const fractionDigits = 'fraction_digits';
/** Ends the name of a column that holds the nearest doubles of another one, which stays exact. */
export const doubleEnding = '_double';

/** Digits of the longest DECIMAL. */
export const maxDigits = 38;
/** Digits that fit an INT64. */
const maxOfInteger = 18;

const required = { repetition_type: 'REQUIRED' } as const;
const string = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;

/**
 * @returns the root, then the columns in the order of the file.
 * @param digits per value column.
 * @param hasDoubles whether each value column has a twin of doubles.
 */
export function parquetSchema(layout: Layout, digits: readonly Digits[], hasDoubles = false): SchemaElement[] {
  const values = layout.values.map(
    (name): Column => ({ name, repetition_type: layout.optional.includes(name) ? 'OPTIONAL' : 'REQUIRED' }),
  );
  const columns: SchemaElement[] = [
    ...layout.names.map(
      (name): SchemaElement => ({
        name,
        ...string,
        repetition_type: name === 'currency_symbol' ? 'OPTIONAL' : 'REQUIRED',
      }),
    ),
    {
      name: 'time',
      type: 'INT64',
      converted_type: 'TIMESTAMP_MILLIS',
      ...required,
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    ...values.map((column, place) => valueColumn(column, digits[place] ?? { beforePoint: 1, afterPoint: 0 })),
    { name: fractionDigits, ...string, ...required },
    ...(hasDoubles ? values : []).map(
      (column): SchemaElement => ({ ...column, name: column.name + doubleEnding, type: 'DOUBLE' }),
    ),
  ];
  return [{ name: 'root', num_children: columns.length }, ...columns];
}

type Column = Pick<SchemaElement, 'name' | 'repetition_type'>;

function valueColumn(column: Column, { beforePoint, afterPoint }: Digits): SchemaElement {
  const precision = Math.max(1, beforePoint + afterPoint);
  if (precision > maxDigits) return { ...column, ...string };
  const decimal = {
    ...column,
    converted_type: 'DECIMAL',
    precision,
    scale: afterPoint,
    logical_type: { type: 'DECIMAL', precision, scale: afterPoint },
  } as const;
  return precision <= maxOfInteger
    ? { ...decimal, type: 'INT64' }
    : { ...decimal, type: 'FIXED_LEN_BYTE_ARRAY', type_length: bytesFor(precision) };
}

/** @returns the bytes of the shortest two's complement for this many digits. */
function bytesFor(precision: number): number {
  return Math.ceil(((10n ** BigInt(precision) - 1n).toString(2).length + 1) / 8);
}

/** Converts a decimal to an integer of 10^-scale. @throws RangeError when it has more fraction digits. */
export function unscaled(text: string, scale: number): bigint {
  const point = text.indexOf('.');
  const fraction = point === -1 ? '' : text.slice(point + 1);
  const kept = fraction.length > scale ? fraction.replace(/0+$/, '') : fraction;
  if (kept.length > scale) throw new RangeError(`${text} has more than ${scale} fraction digits`);
  return BigInt((point === -1 ? text : text.slice(0, point)) + kept.padEnd(scale, '0'));
}

/** Converts back. @param digits of the fraction; null: without trailing zeros. */
export function decimalOf(unscaledValue: bigint, scale: number, digits: number | null): string {
  const sign = unscaledValue < 0n ? '-' : '';
  const figures = String(unscaledValue < 0n ? -unscaledValue : unscaledValue).padStart(scale + 1, '0');
  const whole = figures.slice(0, figures.length - scale);
  const fraction = scale === 0 ? '' : figures.slice(-scale);
  const plain = fraction.replace(/0+$/, '');
  const shown = digits === null ? plain : plain.padEnd(digits, '0');
  return `${sign}${whole}${shown === '' ? '' : `.${shown}`}`;
}

/** Counts the fraction digits of a decimal. */
export function fractionDigitsOf(text: string): number {
  const point = text.indexOf('.');
  return point === -1 ? 0 : text.length - point - 1;
}

const rowsOfGroup = 50_000;

export async function parquetWriter(
  layout: Layout,
  digits: readonly Digits[],
  output: Output,
  hasDoubles = false,
): Promise<RowWriter> {
  const schema = parquetSchema(layout, digits, hasDoubles);
  const writer = new ParquetWriter({ writer: new OutputWriter(output), schema, createdBy: 'tidemark' });
  let group = emptyGroup();
  let rows = 0;

  function emptyGroup(): Map<string, Cell[]> {
    return new Map(schema.slice(1).map(({ name }) => [name, []]));
  }
  const scales = new Map(
    schema.flatMap((element) => (element.converted_type === 'DECIMAL' ? [[element.name, element.scale ?? 0]] : [])),
  );
  function put(name: string, cell: Cell): void {
    group.get(name)?.push(cell);
  }
  function add(names: Rows['names'], { timeMs, values }: Rows['points'][number]): void {
    for (const [place, name] of layout.names.entries()) put(name, names[place] ?? null);
    put('time', BigInt(timeMs));
    for (const [place, name] of layout.values.entries()) {
      const scale = scales.get(name);
      const value = values[place] ?? null;
      put(name, scale === undefined || value === null ? value : unscaled(value, scale));
      if (hasDoubles) put(name + doubleEnding, value === null ? null : Number(value));
    }
    put(fractionDigits, values.map((value) => fractionDigitsOf(value ?? '')).join(' '));
  }
  async function flush(): Promise<void> {
    const columnData = [...group].map(([name, data]) => ({ name, data, offsetIndex: false }));
    group = emptyGroup();
    const size = rows;
    rows = 0;
    if (size > 0) await writer.write({ columnData, rowGroupSize: size });
  }
  return {
    async write({ names, points }) {
      for (const point of points) {
        add(names, point);
        rows += 1;
        if (rows === rowsOfGroup) await flush();
      }
    },
    async end() {
      await flush();
      await writer.finish();
    },
  };
}

type Cell = string | bigint | number | null;

/** Passes the bytes of each row group to the output, and waits for it. */
class OutputWriter extends ByteWriter {
  readonly #output: Output;

  constructor(output: Output) {
    super();
    this.#output = output;
  }

  async flush(): Promise<void> {
    const bytes = Buffer.from(this.buffer.slice(0, this.index));
    this.index = 0;
    await this.#output.write(bytes);
  }

  override finish(): Promise<void> {
    return this.flush();
  }
}
