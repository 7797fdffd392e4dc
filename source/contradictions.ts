/**
 * Rows of one period that differ. None of them can be believed more than the others: all are rejected, and the period stays
 * uncovered, to be asked for again and of the next source. Rows that are equal, as numbers, do no harm.
 */

import { type CandleLines, candlesOf, isCandleLines } from '../contract/candle-lines.ts';
import { compareDecimals, type DecimalText } from '../contract/decimal.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { Rejected } from './answer.ts';

const reason = 'another row of the same period has other values';

type Point = Candle | HistoryPoint;
type Points = readonly Point[] | CandleLines;

/** The rows without those that contradict one another, which are returned as rejected. */
export function withoutContradictions<Rows extends Points>(rows: Rows): { rows: Rows; rejected: Rejected[] } {
  const timesMs = isCandleLines(rows) ? rows.timesMs : rows.map(timeOf);
  const places = repeated(timesMs);
  if (places.length === 0) return { rows, rejected: [] };
  const isOut = new Set(places.filter((of) => !areEqual(of.map((place) => pointAt(rows, place)))).flat());
  if (isOut.size === 0) return { rows, rejected: [] };
  const rejected = [...isOut].map((place) => ({
    raw: JSON.stringify(pointAt(rows, place)),
    reason,
    timeMs: timesMs[place] ?? null,
    isDisputed: true,
  }));
  const isKept = (_: unknown, place: number) => !isOut.has(place);
  if (!isCandleLines(rows)) return { rows: rows.filter(isKept) as unknown as Rows, rejected };
  const kept = timesMs.filter(isKept);
  return {
    rows: { ...rows, length: kept.length, timesMs: kept, starts: rows.starts.filter(isKept) },
    rejected,
  };
}

/** The same for a whole answer of candles or of a history. */
export function withoutContradicting<Points>(answer: Points): Points {
  const { rows, rejected } = answer as unknown as { rows: readonly Point[]; rejected: Rejected[] };
  const kept = withoutContradictions(rows);
  return kept.rejected.length === 0
    ? answer
    : { ...answer, rows: kept.rows, rejected: [...rejected, ...kept.rejected] };
}

/** The places of each time that occurs more than once. */
function repeated(timesMs: readonly EpochMs[]): number[][] {
  if (areStrictlyOrdered(timesMs)) return [];
  const places = new Map<EpochMs, number[]>();
  for (const [place, timeMs] of timesMs.entries()) {
    const of = places.get(timeMs);
    if (of === undefined) places.set(timeMs, [place]);
    else of.push(place);
  }
  return [...places.values()].filter((of) => of.length > 1);
}

/** Nearly every answer is, in one direction or the other. */
function areStrictlyOrdered(timesMs: readonly EpochMs[]): boolean {
  const sign = Math.sign((timesMs[1] ?? 0) - (timesMs[0] ?? 0));
  return timesMs.every((timeMs, place) => place === 0 || sign * (timeMs - (timesMs[place - 1] ?? 0)) > 0);
}

const timeOf = (point: Point): EpochMs => ('period' in point ? point.period : point.time);

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
  const valuesOf = (point: Point | undefined) =>
    Object.values(point ?? {}).filter((value): value is DecimalText => typeof value === 'string');
  const expected = valuesOf(first);
  return others.every((other) =>
    valuesOf(other).every((value, column) => compareDecimals(value, expected[column] as DecimalText) === 0),
  );
}
