/**
 * Rows of one period, or of one entry of a list whose every poll is kept, that differ. None of them can be believed
 * more than the others: all are rejected, and the period stays uncovered, to be asked for again and of the next source.
 * Rows that are equal, as numbers, do no harm.
 */

import { compareDecimals, type DecimalText } from '../model/decimal.ts';
import type { EpochMs } from '../model/intervals.ts';
import type { List } from '../model/list.ts';
import type { ListRow } from '../model/lists/index.ts';
import { type Point, type PointLines, pickPoints, pointAt, pointObject } from '../model/point-lines.ts';
import type { RejectedRow } from '../planning/answer.ts';

/** The time of a point, or the key of an entry. */
type Key = EpochMs | string;

interface Consistent<Rows> {
  readonly rows: Rows;
  readonly rejected: readonly RejectedRow[];
}

/** The points without those that contradict one another, which are the first ones that are rejected. */
export function consistentPoints<Of extends Consistent<PointLines>>(answer: Of): Of {
  const { rows } = answer;
  const out = contradicting(rows.timesMs, (place) => pointAt(rows, place).values);
  if (out.size === 0) return answer;
  const rejected = [...out].map((place): RejectedRow => {
    const point = pointAt(rows, place);
    return { raw: JSON.stringify(pointObject(rows.dataset, point)), ...disputed('period'), timeMs: point.timeMs };
  });
  const kept = [...rows.timesMs.keys()].filter((place) => !out.has(place));
  return { ...answer, rows: pickPoints(rows, kept), rejected: [...rejected, ...answer.rejected] };
}

/** The same of the entries of a list. */
export function consistentEntries<Of extends Consistent<readonly ListRow[]>>(answer: Of, list: List): Of {
  const { rows } = answer;
  const decimals = list.values.filter(({ type }) => type === 'numeric');
  const out = contradicting(
    rows.map((row) => JSON.stringify(list.key.map(({ json }) => row[json]))),
    (place) => decimals.map(({ json }) => (rows[place]?.[json] ?? null) as DecimalText | null),
  );
  if (out.size === 0) return answer;
  const rejected = [...out].map(
    (place): RejectedRow => ({ raw: JSON.stringify(rows[place]), ...disputed(list.entry), timeMs: null }),
  );
  return { ...answer, rows: rows.filter((_, place) => !out.has(place)), rejected: [...rejected, ...answer.rejected] };
}

const disputed = (key: string) => ({ reason: `another row of the same ${key} has other values`, isDisputed: true });

/** Places of the rows that differ from another one of the same key. */
function contradicting(keys: readonly Key[], valuesAt: (place: number) => Point['values']): Set<number> {
  const isDiffering = (places: readonly number[]) => {
    const [first = [], ...others] = places.map(valuesAt);
    return others.some((other) => other.some((value, column) => areDifferent(value, first[column] ?? null)));
  };
  return new Set(repeated(keys).filter(isDiffering).flat());
}

function areDifferent(a: DecimalText | null, b: DecimalText | null): boolean {
  return a === null || b === null ? a !== b : compareDecimals(a, b) !== 0;
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
