/** Limits of the interface (specification, section 8), and limits known only from the field. */

import { dayMs, type Interval } from '../model/intervals.ts';

/** Requests a minute, specification section 8. */
export const requestsPerMinute = Object.freeze({ withoutKey: 200, withKey: 500 });

/** How far history reaches back without a key, specification section 8. */
export const historyDepthYears = 11;

/** Page size of the lists. The maximum is specified for asset markets; the field has both on every list. */
export const pageSize = Object.freeze({ default: 100, maximum: 2000 });

/**
 * Longest range of a request, milliseconds. Of histories it was seen in the field and is documented by a public service.
 * Of candles the interface documents no limit; responses with one day of m1 and 187 days of h8 were seen. The others
 * follow the history's limits.
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

/** Range of a request without `start` and `end`, milliseconds: the longest, but a year for d1 and w1. */
export const defaultRangeMs: typeof longestRangeMs = Object.freeze({
  ...longestRangeMs,
  d1: 365 * dayMs,
  w1: 365 * dayMs,
});
