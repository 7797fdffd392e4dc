/** What of a file's statement about its coverage the rows that were read bear out. */

import { type EpochMs, type Interval, intervalMs, periodStart } from '../contract/intervals.ts';
import { clip, type Range, subtract } from './ranges.ts';

/** The period that holds a moment. */
export function periodOf(timeMs: EpochMs, interval: Interval): Range {
  const startMs = periodStart(timeMs, interval);
  return { startMs, endMs: startMs + intervalMs[interval] };
}

/**
 * The part of the stated ranges that lies in the window and has closed, without the periods of rows that were refused.
 *
 * @param holes periods of refused rows.
 * @param only where a refused row may belong to any period: the periods of the rows that are there. Else null.
 */
export function borneOut(
  stated: readonly Range[],
  read: { window: Range; closedUpToMs: EpochMs; holes: readonly Range[]; only: readonly Range[] | null },
): Range[] {
  const endMs = Math.min(read.window.endMs, read.closedUpToMs);
  if (read.window.startMs >= endMs) return [];
  const found = subtract(clip(stated, { startMs: read.window.startMs, endMs }), read.holes);
  return read.only === null ? found : subtract(found, subtract(found, read.only));
}

/** Whether one of the ranges, which are sorted and disjoint, holds a moment. */
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
