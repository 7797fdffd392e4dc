/** Limits of the interface (specification, section 8), and limits known only from the field. */

import { type CandleInterval, dayMs, type HistoryInterval } from './intervals.ts';

/** Requests a minute, specification section 8. */
export const requestsPerMinute = Object.freeze({ withoutKey: 200, withKey: 500 });

/** How far history reaches back without a key, specification section 8. */
export const historyDepthYears = 11;

/** Page size of the lists. The maximum is specified for asset markets; the field has both on every list. */
export const pageSize = Object.freeze({ default: 100, maximum: 2000 });

/** Longest range of a history request, milliseconds. Seen in the field and documented by a public service. */
export const longestHistoryRangeMs: Readonly<Record<HistoryInterval, number>> = Object.freeze({
  m1: dayMs,
  m5: 5 * dayMs,
  m15: 7 * dayMs,
  m30: 14 * dayMs,
  h1: 30 * dayMs,
  h2: 61 * dayMs,
  h6: 183 * dayMs,
  h12: 365 * dayMs,
  d1: 7305 * dayMs,
});

/**
 * Longest range of a candles request, milliseconds. The interface documents no limit; responses with one day of m1 and 187
 * days of h8 were seen. The others follow the history's limits.
 */
export const longestCandleRangeMs: Readonly<Record<CandleInterval, number>> = Object.freeze({
  m1: dayMs,
  m5: 5 * dayMs,
  m15: 7 * dayMs,
  m30: 14 * dayMs,
  h1: 30 * dayMs,
  h2: 61 * dayMs,
  h4: 122 * dayMs,
  h8: 183 * dayMs,
  h12: 365 * dayMs,
  d1: 7305 * dayMs,
  w1: 7305 * dayMs,
});

/** Range of a history request without `start` and `end`, milliseconds: the longest, but a year for d1. */
export const defaultHistoryRangeMs: Readonly<Record<HistoryInterval, number>> = Object.freeze({
  ...longestHistoryRangeMs,
  d1: 365 * dayMs,
});

/** Range of a candles request without `start` and `end`, milliseconds: the longest, but a year for d1 and w1. */
export const defaultCandleRangeMs: Readonly<Record<CandleInterval, number>> = Object.freeze({
  ...longestCandleRangeMs,
  d1: 365 * dayMs,
  w1: 365 * dayMs,
});
