/** Limits on the range of a request. */

import { eventReachMs } from './datasets/index.ts';
import { dayMs, type Interval, intervalMs } from './intervals.ts';
import type { Range } from './ranges.ts';
import type { SeriesKey } from './series.ts';
import { type OfferFacts, offerOf } from './sources.ts';

/**
 * Longest range of a request to a Market Data Service, milliseconds, and to a source that states none. Of histories it
 * was seen in the field and is documented by a public service. Of candles the interface documents no limit; responses
 * with one day of m1 and 187 days of h8 were seen. The others follow the history's limits.
 */
export const longestRangeMs: Readonly<Record<Interval, number>> = Object.freeze({
  m1: dayMs,
  m5: 5 * dayMs,
  m15: 7 * dayMs,
  m30: 14 * dayMs,
  h1: 30 * dayMs,
  h2: 61 * dayMs,
  h4: 122 * dayMs,
  h6: 183 * dayMs,
  h8: 183 * dayMs,
  h12: 365 * dayMs,
  d1: 7305 * dayMs,
  w1: 7305 * dayMs,
});

/** Key of a source's limit on the range of a request: dataset and interval. */
export type RangeKey = `${SeriesKey['dataset']} ${SeriesKey['interval']}`;

export function rangeKey({ dataset }: Pick<SeriesKey, 'dataset'>, interval: SeriesKey['interval']): RangeKey {
  return `${dataset} ${interval}`;
}

/**
 * Longest window of one request of the series, milliseconds; at least one period. Of events a request is longer by the
 * time on either side in which its witnesses are.
 *
 * @param offers of its source.
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
  return Math.max(longestMs - 2 * eventReachMs(dataset), intervalMs[series.interval]);
}

/** Number of requests for a range. */
export function requestsFor(range: Range, longestRangeMs: number): number {
  return Math.max(0, Math.ceil((range.endMs - range.startMs) / longestRangeMs));
}
