/**
 * The columns of a Parquet file. A value column is a DECIMAL that holds each value exactly, with up to 38 digits.
 * Beyond that it is text, because readers such as DuckDB convert a longer DECIMAL to a double.
 *
 * All values of a DECIMAL column have the same scale, so `1.10` and `1.1` are equal. The column `fraction_digits` keeps
 * the received number of digits per value (`16 16 16 16 18`; of an absent value 0). It has few distinct texts and
 * compresses well.
 */

import type { SchemaElement } from 'hyparquet';
import { type Digits, maxDigits } from '../decimals/decimal-type.ts';
import type { Layout } from '../layout.ts';

/** The column with the fraction digits per value of a row. */
export const fractionDigits = 'fraction_digits';
/** Ends the name of a column that holds the nearest doubles of another one, which stays exact. */
export const doubleEnding = '_double';

/** Digits that fit an INT64. */
const maxOfInteger = 18;

const required = { repetition_type: 'REQUIRED' } as const;
const string = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;

export interface Columns {
  readonly layout: Layout;
  /** Per value column. */
  readonly digits: readonly Digits[];
  /** Whether each value column has a twin of doubles. */
  readonly hasDoubles?: boolean;
  /** Absent: milliseconds. Iceberg has microseconds. */
  readonly timeUnit?: 'MICROS';
}

/**
 * Ids of the columns, by which tables of Iceberg find them. They never change: a new column gets the next of its kind.
 * Doubles follow their exact twins by {@link idOfDoubles}.
 */
const idOf = { time: 1, fractionDigits: 2, firstName: 3, firstValue: 11 };
const idOfDoubles = 50;

/** @returns the root, then the columns in the order of the file. */
export function parquetSchema({ layout, digits, hasDoubles = false, timeUnit }: Columns): SchemaElement[] {
  const values = layout.values.map(
    (name, place): Column => ({
      name,
      field_id: idOf.firstValue + place,
      repetition_type: layout.optional.includes(name) ? 'OPTIONAL' : 'REQUIRED',
    }),
  );
  const unit = timeUnit ?? 'MILLIS';
  const columns: SchemaElement[] = [
    ...layout.names.map(
      (name, place): SchemaElement => ({
        name,
        field_id: idOf.firstName + place,
        ...string,
        repetition_type: name === 'currency_symbol' ? 'OPTIONAL' : 'REQUIRED',
      }),
    ),
    {
      name: 'time',
      field_id: idOf.time,
      type: 'INT64',
      converted_type: `TIMESTAMP_${unit}`,
      ...required,
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit },
    },
    ...values.map((column, place) => valueElement(column, digits[place] ?? { beforePoint: 1, afterPoint: 0 })),
    { name: fractionDigits, field_id: idOf.fractionDigits, ...string, ...required },
    ...(hasDoubles ? values : []).map(
      (column): SchemaElement => ({
        ...column,
        name: column.name + doubleEnding,
        field_id: column.field_id + idOfDoubles,
        type: 'DOUBLE',
      }),
    ),
  ];
  return [{ name: 'root', num_children: columns.length }, ...columns];
}

type Column = Pick<SchemaElement, 'name' | 'repetition_type'> & { readonly field_id: number };

function valueElement(column: Column, { beforePoint, afterPoint }: Digits): SchemaElement {
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
    : { ...decimal, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 };
}
