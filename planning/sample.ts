/** Windows of covered ranges: their number, and random samples. */

import { cut, type Range } from '../model/ranges.ts';
import { requestsFor } from '../model/request-range.ts';
import type { SeriesKey } from '../model/series.ts';
import { sum } from '../model/sum.ts';
import type { Command } from '../model/window.ts';

/** A series and its covered ranges, sorted and disjoint. */
export interface CoveredSeries {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly ranges: readonly Range[];
}

export type CoveredWindow = Range & Pick<Command, 'seriesId' | 'series' | 'byDays'>;

/** Number of requests for all covered ranges. */
export function countWindows(covered: readonly CoveredSeries[], longestRangeMs: (series: SeriesKey) => number): number {
  return sum(
    covered.flatMap(({ series, ranges }) => ranges.map((range) => requestsFor(range, longestRangeMs(series)))),
  );
}

/** All windows of the covered ranges, oldest first in each series. */
export function* allWindows(
  covered: readonly CoveredSeries[],
  longestRangeMs: (series: SeriesKey) => number,
): Generator<CoveredWindow> {
  for (const { seriesId, series, ranges } of covered) {
    const spanMs = longestRangeMs(series);
    for (const range of ranges) {
      for (const window of cut(range, spanMs)) yield { seriesId, series, ...window, byDays: false };
    }
  }
}

/**
 * Draws `count` of these windows at random without replacement, each with equal probability; all if there are no more.
 * In the order of {@link allWindows}. Only the drawn windows are computed: a store may have millions of windows.
 *
 * @param random like Math.random.
 */
export function* sampleWindows(
  covered: readonly CoveredSeries[],
  longestRangeMs: (series: SeriesKey) => number,
  count: number,
  random: () => number,
): Generator<CoveredWindow> {
  const places = drawn(count, countWindows(covered, longestRangeMs), random);
  let drawnSoFar = 0;
  let firstOfRange = 0;
  for (const { seriesId, series, ranges } of covered) {
    const spanMs = longestRangeMs(series);
    for (const range of ranges) {
      const endOfRange = firstOfRange + requestsFor(range, spanMs);
      for (let place = places[drawnSoFar]; place !== undefined && place < endOfRange; ) {
        const startMs = range.startMs + (place - firstOfRange) * spanMs;
        const endMs = Math.min(startMs + spanMs, range.endMs);
        yield { seriesId, series, startMs, endMs, byDays: false };
        drawnSoFar += 1;
        place = places[drawnSoFar];
      }
      firstOfRange = endOfRange;
    }
  }
}

/**
 * Draws numbers below `of` without replacement, ascending: Floyd's algorithm, whose memory is proportional to the
 * sample.
 */
function drawn(count: number, of: number, random: () => number): number[] {
  const chosen = new Set<number>();
  for (let bound = Math.max(0, of - count); bound < of; bound += 1) {
    const place = Math.floor(random() * (bound + 1));
    chosen.add(chosen.has(place) ? bound : place);
  }
  return [...chosen].sort((a, b) => a - b);
}

/**
 * The fewest windows that contain all of these periods, none longer than one request.
 *
 * @param timesMs starts of the periods, ascending.
 */
export function windowsAround(timesMs: readonly number[], periodMs: number, spanMs: number): Range[] {
  const windows: { startMs: number; endMs: number }[] = [];
  for (const timeMs of timesMs) {
    const last = windows.at(-1);
    if (last !== undefined && timeMs + periodMs <= last.startMs + spanMs) last.endMs = timeMs + periodMs;
    else windows.push({ startMs: timeMs, endMs: timeMs + periodMs });
  }
  return windows;
}
