/** Arithmetic of half-open ranges `[startMs, endMs)`. Lists of ranges are sorted, disjoint and without empty ranges. */

import type { EpochMs, Range } from './intervals.ts';

export type { Range };

/** Sorts and merges ranges. Adjacent ranges become one. */
export function normalize(ranges: readonly Range[]): Range[] {
  const sorted = ranges.filter((range) => range.startMs < range.endMs).sort((a, b) => a.startMs - b.startMs);
  const merged: Range[] = [];
  for (const range of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && range.startMs <= last.endMs) {
      if (range.endMs > last.endMs) merged[merged.length - 1] = { startMs: last.startMs, endMs: range.endMs };
    } else {
      merged.push(range);
    }
  }
  return merged;
}

/** Subtracts `minus` from `ranges`, both in any order. */
export function subtract(ranges: readonly Range[], minus: readonly Range[]): Range[] {
  const holes = normalize(minus);
  const left: Range[] = [];
  for (const range of normalize(ranges)) {
    let startMs = range.startMs;
    for (const hole of holes) {
      if (hole.endMs <= startMs) continue;
      if (hole.startMs >= range.endMs) break;
      if (hole.startMs > startMs) left.push({ startMs, endMs: hole.startMs });
      startMs = hole.endMs;
    }
    if (startMs < range.endMs) left.push({ startMs, endMs: range.endMs });
  }
  return left;
}

/** Clips `ranges` to `bounds`. */
export function clip(ranges: readonly Range[], bounds: Range): Range[] {
  return normalize(
    ranges.map((range) => ({
      startMs: Math.max(range.startMs, bounds.startMs),
      endMs: Math.min(range.endMs, bounds.endMs),
    })),
  );
}

/** The parts of a range in which none of the periods lies. @param timesMs their starts, in any order. */
export function periodsWithout({ startMs, endMs }: Range, timesMs: readonly EpochMs[], lengthMs: number): Range[] {
  const without: Range[] = [];
  let nextMs = startMs;
  const isSorted = timesMs.every((timeMs, place) => timeMs >= (timesMs[place - 1] ?? timeMs));
  for (const timeMs of isSorted ? timesMs : new Float64Array(timesMs).sort()) {
    if (timeMs > nextMs) without.push({ startMs: nextMs, endMs: timeMs });
    nextMs = timeMs + lengthMs;
  }
  if (nextMs < endMs) without.push({ startMs: nextMs, endMs });
  return without;
}

export function overlaps(a: Range, b: Range): boolean {
  return a.startMs < b.endMs && b.startMs < a.endMs;
}

/** Sum of the lengths, milliseconds. */
export function lengthMs(ranges: readonly Range[]): number {
  return ranges.reduce((sum, range) => sum + (range.endMs - range.startMs), 0);
}

/** Cuts a range from its start into pieces of at most `pieceMs`. */
export function* cut(range: Range, pieceMs: number): Generator<Range> {
  for (let startMs = range.startMs; startMs < range.endMs; startMs += pieceMs) {
    yield { startMs, endMs: Math.min(startMs + pieceMs, range.endMs) };
  }
}

/**
 * The part of the ranges stated by a file that lies in `window` and outside of `holes`, the periods of rejected rows.
 */
export function confirmedRanges(
  stated: readonly Range[],
  { window, holes }: { window: Range; holes: readonly Range[] },
): Range[] {
  return window.startMs < window.endMs ? subtract(clip(stated, window), holes) : [];
}

/** Whether one of these ranges, sorted and disjoint, contains a time. */
export function holds(ranges: readonly Range[], timeMs: EpochMs): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.endMs ?? 0) <= timeMs) low = middle + 1;
    else high = middle;
  }
  const range = ranges[low];
  return range !== undefined && range.startMs <= timeMs;
}
