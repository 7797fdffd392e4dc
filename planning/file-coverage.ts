/** The coverage that a file states, and the rows that confirm it. */

import { type EpochMs, type Interval, intervalMs, periodStart } from '../contract/intervals.ts';
import { clip, type Range, subtract } from './ranges.ts';

/** The period that contains a time. */
export function periodOf(timeMs: EpochMs, interval: Interval): Range {
  const startMs = periodStart(timeMs, interval);
  return { startMs, endMs: startMs + intervalMs[interval] };
}

/** The part of the stated ranges that lies in `window` and outside of `holes`, the periods of rejected rows. */
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
