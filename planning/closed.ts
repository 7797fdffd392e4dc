/** Which periods of a series have ended, and how far a request may reach to hold the one that has not. */

import { type EpochMs, intervalMs, periodStart } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';

/**
 * End of the last closed period: coverage reaches no further. `graceMs` is how long after its end a period may
 * still change, because points can appear late at the source and clocks differ.
 */
export function closedUpTo(series: SeriesKey, nowMs: EpochMs, graceMs: number): EpochMs {
  return periodStart(nowMs - graceMs, series.interval);
}

/**
 * End of a request that is to hold the newest data: the open candle included. The running day of `d1` history
 * has no point (it is a mean over the whole day), so there the last closed day is the newest.
 */
export function newestEnd(series: SeriesKey, nowMs: EpochMs, graceMs: number): EpochMs {
  if (!hasOpenPoint(series)) return closedUpTo(series, nowMs, graceMs);
  return periodStart(nowMs, series.interval) + intervalMs[series.interval];
}

/** Whether the source shows a point of the period that is still running. */
export function hasOpenPoint(series: SeriesKey): boolean {
  return !(series.dataset === 'asset_history' && series.interval === 'd1');
}
