/**
 * The columns of a Parquet file. A column of values is a DECIMAL whose scale and precision hold each of its values
 * exactly, as long as 38 digits do: readers such as DuckDB take a longer one for a double. Otherwise it is text.
 *
 * A DECIMAL has as many fraction digits as its column, so `1.10` and `1.1` would be the same. `fraction_digits` keeps
 * how many each value of the row was received with (`16 16 16 16 18`): few distinct texts, which cost next to nothing.
 */

import type { SchemaElement } from 'hyparquet';
import type { Layout } from './layout.ts';

/** The most digits that any value of a column has. */
export interface Digits {
  readonly beforePoint: number;
  /** Without zeros at the end. */
  readonly afterPoint: number;
}

/** Column of a Parquet file that says how many fraction digits each value of its row has. */
export const fractionDigits = 'fraction_digits';

const mostDigits = 38;
/** Up to here an INT64 holds a decimal. */
const mostOfInteger = 18;

const required = { repetition_type: 'REQUIRED' } as const;
const string = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;

/** Root first, then the columns in the order of the file. @param digits of each column of values. */
export function parquetSchema(layout: Layout, digits: readonly Digits[]): SchemaElement[] {
  const columns: SchemaElement[] = [
    ...layout.names.map(
      (name): SchemaElement => ({
        name,
        ...string,
        repetition_type: isOptional(name) ? 'OPTIONAL' : 'REQUIRED',
      }),
    ),
    {
      ...{ name: 'time', type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', ...required },
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    ...layout.values.map((name, place) =>
      valueColumn(name, digits[place] ?? { beforePoint: 1, afterPoint: 0 }),
    ),
    { name: fractionDigits, ...string, ...required },
  ];
  return [{ name: 'root', num_children: columns.length }, ...columns];
}

function isOptional(name: string): boolean {
  return name === 'currency_symbol';
}

function valueColumn(name: string, { beforePoint, afterPoint }: Digits): SchemaElement {
  const precision = Math.max(1, beforePoint + afterPoint);
  if (precision > mostDigits) return { name, ...string, ...required };
  const decimal = {
    name,
    converted_type: 'DECIMAL',
    precision,
    scale: afterPoint,
    logical_type: { type: 'DECIMAL', precision, scale: afterPoint },
    ...required,
  } as const;
  return precision <= mostOfInteger
    ? { ...decimal, type: 'INT64' }
    : { ...decimal, type: 'FIXED_LEN_BYTE_ARRAY', type_length: bytesFor(precision) };
}

/** Bytes of the shortest two's complement that holds any number of so many digits. */
export function bytesFor(precision: number): number {
  return Math.ceil(((10n ** BigInt(precision) - 1n).toString(2).length + 1) / 8);
}

/** A plain decimal as a whole number of 10^-scale. @throws RangeError when it has more fraction digits than that. */
export function unscaled(text: string, scale: number): bigint {
  const point = text.indexOf('.');
  const fraction = point === -1 ? '' : text.slice(point + 1);
  const kept = fraction.length > scale ? fraction.replace(/0+$/, '') : fraction;
  if (kept.length > scale) throw new RangeError(`${text} has more than ${scale} fraction digits`);
  return BigInt((point === -1 ? text : text.slice(0, point)) + kept.padEnd(scale, '0'));
}

/** The other way: with `digits` fraction digits, and without any that are no more than padding where it is null. */
export function decimalOf(unscaledValue: bigint, scale: number, digits: number | null): string {
  const sign = unscaledValue < 0n ? '-' : '';
  const figures = String(unscaledValue < 0n ? -unscaledValue : unscaledValue).padStart(scale + 1, '0');
  const whole = figures.slice(0, figures.length - scale);
  const fraction = scale === 0 ? '' : figures.slice(-scale);
  const plain = fraction.replace(/0+$/, '');
  const shown = digits === null ? plain : plain.padEnd(digits, '0');
  return `${sign}${whole}${shown === '' ? '' : `.${shown}`}`;
}

/** Fraction digits of a plain decimal. */
export function fractionDigitsOf(text: string): number {
  const point = text.indexOf('.');
  return point === -1 ? 0 : text.length - point - 1;
}
