/** Limits of the interface (specification, section 8), and limits known only from the field. */

import { dayMs } from '../model/intervals.ts';
import { longestRangeMs } from '../model/request-range.ts';

/** Requests a minute, specification section 8. */
export const requestsPerMinute = Object.freeze({ withoutKey: 200, withKey: 500 });

/** How far history reaches back without a key, specification section 8. */
export const historyDepthYears = 11;

/** Page size of the lists. The maximum is specified for asset markets; the field has both on every list. */
export const pageSize = Object.freeze({ default: 100, maximum: 2000 });

/** Range of a request without `start` and `end`, milliseconds: the longest, but a year for d1 and w1. */
export const defaultRangeMs: typeof longestRangeMs = Object.freeze({
  ...longestRangeMs,
  d1: 365 * dayMs,
  w1: 365 * dayMs,
});
