/** How many requests what is missing still takes. */

import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { requestsFor } from '../planning/windows.ts';
import type { Gap } from '../store/gaps.ts';

/** Whether anything will come of waiting for a gap: a window that failed waits longer than anybody watches. */
export function isWorkable(gap: Gap, nowMs: EpochMs): boolean {
  if (gap.reason === 'not_asked' || gap.reason === 'stale') return true;
  return gap.retryAtMs !== null && gap.retryAtMs <= nowMs;
}

/** Windows by series, of what can be asked for now. */
export function windowsLeft(
  gaps: readonly Gap[],
  nowMs: EpochMs,
  longestRangeMs: (series: SeriesKey) => number,
): ReadonlyMap<number, number> {
  const windows = new Map<number, number>();
  for (const gap of gaps) {
    if (!isWorkable(gap, nowMs)) continue;
    const requests = requestsFor(gap, longestRangeMs(gap.series));
    windows.set(gap.seriesId, (windows.get(gap.seriesId) ?? 0) + requests);
  }
  return windows;
}
