/**
 * Rows of one period, or rates of one currency, that differ. None of them can be believed more than the others: all are
 * rejected, and the period stays uncovered, to be asked for again and of the next source. Rows that are equal, as numbers, do
 * no harm.
 */

import { type CandleLines, candlesOf, isCandleLines } from '../model/candle-lines.ts';
import { compareDecimals, type DecimalText } from '../model/decimal.ts';
import type { EpochMs } from '../model/intervals.ts';
import type { Candle, HistoryPoint, Rate } from '../v2/resources.ts';
import type { Rejected } from './answer.ts';

const reason = (key: Key) =>
  `another row of the same ${typeof key === 'string' ? 'currency' : 'period'} has other values`;

type Point = Candle | HistoryPoint | Rate;
/** Its time, or the currency of a rate. */
type Key = EpochMs | string;
type Points = readonly Point[] | CandleLines;

/** The rows without those that contradict one another, which are returned as rejected. */
export function withoutContradictions<Rows extends Points>(rows: Rows): { rows: Rows; rejected: Rejected[] } {
  const keys: readonly Key[] = isCandleLines(rows) ? rows.timesMs : rows.map(keyOf);
  const places = repeated(keys);
  if (places.length === 0) return { rows, rejected: [] };
  const isOut = new Set(places.filter((of) => !areEqual(of.map((place) => pointAt(rows, place)))).flat());
  if (isOut.size === 0) return { rows, rejected: [] };
  const rejected = [...isOut].map((place) => {
    const key = keys[place] ?? '';
    const timeMs = typeof key === 'string' ? null : key;
    return { raw: JSON.stringify(pointAt(rows, place)), reason: reason(key), timeMs, isDisputed: true };
  });
  const isKept = (_: unknown, place: number) => !isOut.has(place);
  if (!isCandleLines(rows)) return { rows: rows.filter(isKept) as unknown as Rows, rejected };
  const kept = rows.timesMs.filter(isKept);
  return {
    rows: { ...rows, length: kept.length, timesMs: kept, starts: rows.starts.filter(isKept) },
    rejected,
  };
}

/** The same for a whole answer of candles, of a history or of rates. */
export function withoutContradicting<Points>(answer: Points): Points {
  const { rows, rejected } = answer as unknown as { rows: readonly Point[]; rejected: Rejected[] };
  const kept = withoutContradictions(rows);
  return kept.rejected.length === 0
    ? answer
    : { ...answer, rows: kept.rows, rejected: [...rejected, ...kept.rejected] };
}

/** The places of each key that occurs more than once. */
function repeated(keys: readonly Key[]): number[][] {
  if (areStrictlyOrdered(keys)) return [];
  const places = new Map<Key, number[]>();
  for (const [place, key] of keys.entries()) {
    const of = places.get(key);
    if (of === undefined) places.set(key, [place]);
    else of.push(place);
  }
  return [...places.values()].filter((of) => of.length > 1);
}

/** Nearly every answer is, in one direction or the other. */
function areStrictlyOrdered(keys: readonly Key[]): boolean {
  const sign = Math.sign(Number(keys[1] ?? 0) - Number(keys[0] ?? 0));
  return keys.every((key, place) => place === 0 || sign * (Number(key) - Number(keys[place - 1])) > 0);
}

const keyOf = (point: Point): Key => ('rateUsd' in point ? point.id : 'period' in point ? point.period : point.time);

function pointAt(rows: Points, place: number): Point {
  if (!isCandleLines(rows)) return rows[place] as Point;
  const [candle] = candlesOf({
    ...rows,
    length: 1,
    timesMs: rows.timesMs.slice(place, place + 1),
    starts: rows.starts.slice(place, place + 1),
  });
  return candle as Candle;
}

function areEqual([first, ...others]: readonly Point[]): boolean {
  const expected = valuesOf(first);
  return others.every((other) =>
    valuesOf(other).every((value, column) => compareDecimals(value, expected[column] as DecimalText) === 0),
  );
}

function valuesOf(point: Point | undefined): DecimalText[] {
  if (point !== undefined && 'rateUsd' in point) return [point.rateUsd];
  return Object.values(point ?? {}).filter((value) => typeof value === 'string');
}
