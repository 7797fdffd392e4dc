/** Limits on the range of a request. */

import { longestRangeMs } from '../v2/limits.ts';
import { intervalMs } from './intervals.ts';
import type { Range } from './ranges.ts';
import type { SeriesKey } from './series.ts';
import { type OfferFacts, offerOf } from './sources.ts';

/** Key of a source's limit on the range of a request: dataset and interval. */
export type RangeKey = `${SeriesKey['dataset']} ${SeriesKey['interval']}`;

export function rangeKey({ dataset }: Pick<SeriesKey, 'dataset'>, interval: SeriesKey['interval']): RangeKey {
  return `${dataset} ${interval}`;
}

/**
 * Longest range of one request of the series, milliseconds; at least one period.
 *
 * @param offers of its source; a range that is absent is that of the interface.
 * @param accepted longest ranges that the source accepted after refusing longer ones.
 */
export function longestRange(
  series: SeriesKey,
  offers: readonly OfferFacts[] = [],
  accepted: ReadonlyMap<RangeKey, number> = new Map(),
): number {
  const { dataset, interval } = series;
  const range = offerOf(offers, dataset)?.longestRangeMs[interval] ?? longestRangeMs[interval];
  const longestMs = Math.min(range, accepted.get(rangeKey(series, interval)) ?? range);
  return Math.max(longestMs, intervalMs[series.interval]);
}

/** Number of requests for a range. */
export function requestsFor(range: Range, longestRangeMs: number): number {
  return Math.max(0, Math.ceil((range.endMs - range.startMs) / longestRangeMs));
}
