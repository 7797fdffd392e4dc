/** The limits of the interface (specification, section 8), and those known only from the field. */

import { type CandleInterval, dayMs, type HistoryInterval } from './intervals.ts';

/** Requests a minute, specification section 8. */
export const requestsPerMinute = Object.freeze({ withoutKey: 200, withKey: 500 });

/** How far history reaches back without a key, specification section 8. */
export const historyDepthYears = 11;

/** Page size of the lists. The maximum is specified for asset markets; both were seen in the field on every list. */
export const pageSize = Object.freeze({ default: 100, maximum: 2000 });

/** Longest range of one history request, milliseconds. Seen in the field, documented by a public service. */
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
 * Range asked for in one candles request, milliseconds. The interface documents no limit; one day of m1 and
 * 187 days of h8 were seen in one answer. The others follow the history's limits.
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

/** Range that a history request without `start` and `end` gets, milliseconds: the longest, but a year for d1. */
export const defaultHistoryRangeMs: Readonly<Record<HistoryInterval, number>> = Object.freeze({
  ...longestHistoryRangeMs,
  d1: 365 * dayMs,
});

/** Range that a candles request without `start` and `end` gets, milliseconds: the longest, but a year for d1 and w1. */
export const defaultCandleRangeMs: Readonly<Record<CandleInterval, number>> = Object.freeze({
  ...longestCandleRangeMs,
  d1: 365 * dayMs,
  w1: 365 * dayMs,
});
