/** Estimates the remaining windows of a set of gaps. */

import { type EpochMs, minuteMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { requestsFor } from '../../planning/windows.ts';
import type { Gap } from '../../store/series/gaps.ts';

/** Whether a gap can be requested now. */
export function isWorkable(gap: Gap, nowMs: EpochMs): boolean {
  return gap.reason === 'not_asked' || (gap.retryAtMs !== null && gap.retryAtMs <= nowMs);
}

/** A deferred window that is due within this time is awaited. */
const soonMs = 2 * minuteMs;
/** A window that is deferred for longer than this is not awaited: its error is permanent. */
const longestDeferralMs = 3 * minuteMs;

/**
 * Whether to wait for a deferred gap, as after many errors or while the source lags by a minute.
 *
 * @param untilSecondAnswer waits for a second answer, however long it takes.
 */
export function isAwaited(gap: Gap, nowMs: EpochMs, untilSecondAnswer: boolean): boolean {
  const { reason, retryAtMs, sinceMs } = gap;
  if (reason === 'blocked' || retryAtMs === null || sinceMs === null) return false;
  if (reason === 'awaits_second_answer') return untilSecondAnswer || retryAtMs - nowMs <= soonMs;
  return retryAtMs - nowMs <= soonMs && nowMs - sinceMs < longestDeferralMs;
}

/** Counts the windows per series that can be requested now. */
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
