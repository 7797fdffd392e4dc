/** Readers of single rows: of points by the columns of their dataset, of lists by the schemas of v2/resources.ts. */

import type { z } from 'zod';
import { byDataset, type DatasetName, datasetOf, datasets } from '../model/datasets/index.ts';
import { areTextComparable, compareDecimals, type DecimalText, decimalText, isDecimalText } from '../model/decimal.ts';
import { type EpochMs, type Interval, intervalMs, isOnGrid, latestMs, periodStart } from '../model/intervals.ts';
import type { Point } from '../model/point-lines.ts';
import { shapeProblem } from '../model/shape-problem.ts';
import * as resources from '../v2/resources.ts';

/** Returns the row, or the reason why the value is invalid. */
export type RowReader<Row extends object> = (value: unknown) => Row | string;

export const readAsset = bySchema(resources.asset);
export const readAssetMarket = bySchema(resources.assetMarket);
export const readMarket = bySchema(resources.market);
export const readExchange = bySchema(resources.exchange);
export const readRate = bySchema(resources.rate);

function bySchema<Row extends object>(schema: z.ZodType<Row>): RowReader<Row> {
  return (value) => {
    const result = schema.safeParse(value, { error: shapeProblem });
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    if (issue === undefined) return 'not of the expected shape';
    const field = issue.path.join('.');
    return field === '' ? issue.message : `${field}: ${issue.message}`;
  };
}

/** Reads a point from an object with the names of the interface. */
export function pointReader(dataset: DatasetName, interval: Interval): RowReader<Point> {
  const [plain, schema] = [plainReaders[dataset], schemaReaders[dataset]];
  const hasPlaceholders = datasetOf(dataset).columns.some(({ isZeroUnknown }) => isZeroUnknown);
  return (value) => {
    const read = plain(value) ?? schema(value);
    if (typeof read === 'string') return read;
    const point = hasPlaceholders ? withoutPlaceholders(dataset, read) : read;
    return impossible(dataset, interval, point) ?? point;
  };
}

/** Why no market has the point in a series of the interval; null: one may have it. */
export function impossible(dataset: DatasetName, interval: Interval, { timeMs, values }: Point): string | null {
  if (!isOnGridOf(dataset, timeMs, interval)) return `does not start a period of ${interval}`;
  if (datasets[dataset].areZerosUnknown && values.every((value) => value === null || isZero(value)))
    return 'all values are zero or absent: the source does not know them';
  return impossibilities[dataset](values);
}

/** How long before its hour an event may be stated: a clock that is a little ahead. */
const earlyMs = 1000;

/**
 * The time of an event: the start of the period that it happens at, and how much later it is stated. One that is too
 * far from any has its own time, at which no period starts.
 */
export function eventTime(
  dataset: DatasetName,
  interval: Interval,
  statedMs: EpochMs,
): { readonly timeMs: EpochMs; readonly delay?: Readonly<Record<string, DecimalText>> } {
  const { time } = datasetOf(dataset);
  if (time.density !== 'linked') return { timeMs: statedMs };
  const timeMs = periodStart(statedMs + intervalMs[interval] / 2, interval);
  const delayMs = statedMs - timeMs;
  if (delayMs > time.latestMs || delayMs < -earlyMs) return { timeMs: statedMs };
  return { timeMs, delay: { [time.delay]: decimalText(String(delayMs)) } };
}

/** Whether a point may have the time. The interface does not state on which day a week begins. */
export function isOnGridOf(dataset: DatasetName, timeMs: EpochMs, interval: Interval): boolean {
  return !datasets[dataset].isOnGrid || isOnGrid(timeMs, interval === 'w1' ? 'd1' : interval);
}

/** Whether no digit before an exponent is another one. */
export const isZero = (value: DecimalText) => !/[1-9]/.test(value.replace(/e.*/i, ''));

/** The point with none in place of each zero that its column never has. */
function withoutPlaceholders(dataset: DatasetName, { timeMs, values }: Point): Point {
  const { columns } = datasetOf(dataset);
  const known = (value: DecimalText | null, column: number) =>
    value !== null && columns[column]?.isZeroUnknown && isZero(value) ? null : value;
  return { timeMs, values: values.map(known) };
}

/** Reads points of any form. */
export const schemaReaders = byDataset(({ columns, timeField }, name) =>
  bySchema(
    resources.points[name].transform((row): Point => {
      const fields: Readonly<Record<string, unknown>> = row;
      const values = columns.map(({ json }) => fields[json] as DecimalText | null);
      return { timeMs: Number(fields[timeField]), values };
    }),
  ),
);

/**
 * Reads points whose decimals are text; null for any other. The schema reads them the same, and creates about twenty
 * objects a row, which is a large part of a busy worker's time.
 */
export const plainReaders = byDataset(({ columns, timeField }) => {
  const names = columns.map(({ json }) => json);
  const optional = columns.map(({ isOptional = false }) => isOptional);
  return (row: unknown): Point | null => {
    if (typeof row !== 'object' || row === null) return null;
    const fields = row as Readonly<Record<string, unknown>>;
    const timeMs = fields[timeField];
    if (!isTime(timeMs)) return null;
    const values: Array<DecimalText | null> = [];
    for (let column = 0; column < names.length; column += 1) {
      const value = fields[names[column] ?? ''];
      if (typeof value === 'string' && isDecimalText(value)) values.push(value);
      else if (value == null && optional[column]) values.push(null);
      else return null;
    }
    return { timeMs, values };
  };
});

function isTime(value: unknown): value is EpochMs {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= latestMs;
}

/** Places of two columns: the first is at most the second. */
export type Order = readonly [smaller: number, larger: number];

/** What `impossible` of a dataset demands, in its order. */
export const orders = byDataset(({ columns, impossible }): readonly Order[] => {
  const placeOf = (name: string) => columns.findIndex((column) => column.name === name);
  return impossible.map(([column, is, other]) =>
    is === 'below' ? [placeOf(other), placeOf(column)] : [placeOf(column), placeOf(other)],
  );
});

const zero = decimalText('0');

const impossibilities = byDataset(({ columns, impossible }, name) => {
  const ordered = orders[name];
  const compared = [...new Set(ordered.flat())];
  const notNegative = columns.flatMap(({ least }, column) => (least === undefined ? [] : [column]));
  const isBelow = (a: DecimalText | null | undefined, b: DecimalText | null | undefined) =>
    a != null && b != null && compareDecimals(a, b) < 0;
  /** Fast path: compares as text, in a fifth of the time. False decides nothing. */
  const isPlainlyPossible = (values: Point['values']) =>
    ordered.every(([smaller, larger]) => (values[smaller] ?? '~') <= (values[larger] ?? '')) &&
    notNegative.every((column) => values[column]?.startsWith('-') !== true) &&
    areTextComparable(compared.map((column) => values[column] as DecimalText));
  return (values: Point['values']): string | null => {
    if (isPlainlyPossible(values)) return null;
    const broken = ordered.findIndex(([smaller, larger]) => isBelow(values[larger], values[smaller]));
    if (broken !== -1) return impossible[broken]?.join(' ').replace(' ', ' is ') ?? null;
    const negative = notNegative.find((column) => isBelow(values[column], zero));
    return negative === undefined ? null : `${columns[negative]?.name} is negative`;
  };
});
