/** Limits on the range of a request. */

import { longestRangeMs } from '../v2/limits.ts';
import { type CandleInterval, type HistoryInterval, intervalMs } from './intervals.ts';
import type { Range } from './ranges.ts';
import type { SeriesKey } from './series.ts';

/** Key of a source's limit on the range of a request: dataset and interval. */
export type RangeKey = `${SeriesKey['dataset']} ${SeriesKey['interval']}`;

/** Longest ranges that replace those of the interface, milliseconds. */
export interface RangeLimits {
  readonly candles?: Partial<Readonly<Record<CandleInterval, number>>>;
  readonly asset_history?: Partial<Readonly<Record<HistoryInterval, number>>>;
}

export function rangeKey({ dataset }: Pick<SeriesKey, 'dataset'>, interval: SeriesKey['interval']): RangeKey {
  return `${dataset} ${interval}`;
}

/**
 * Longest range of one request of the series, milliseconds; at least one period.
 *
 * @param accepted longest ranges that the source accepted after refusing longer ones.
 */
export function longestRange(
  series: SeriesKey,
  limits: RangeLimits = {},
  accepted: ReadonlyMap<RangeKey, number> = new Map(),
): number {
  const range =
    series.dataset === 'candles'
      ? (limits.candles?.[series.interval] ?? longestRangeMs[series.interval])
      : (limits.asset_history?.[series.interval] ?? longestRangeMs[series.interval]);
  const longestMs = Math.min(range, accepted.get(rangeKey(series, series.interval)) ?? range);
  return Math.max(longestMs, intervalMs[series.interval]);
}

/** Number of requests for a range. */
export function requestsFor(range: Range, longestRangeMs: number): number {
  return Math.max(0, Math.ceil((range.endMs - range.startMs) / longestRangeMs));
}
