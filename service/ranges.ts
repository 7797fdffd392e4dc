/** Resolves the time range of a request and checks its length. */

import { dayMs, type EpochMs, type Interval, intervalMs } from '../model/intervals.ts';
import type { longestRangeMs } from '../model/request-range.ts';
import type { TimeRange } from '../model/series.ts';
import { defaultRangeMs } from '../v2/limits.ts';
import type { HistoryRequest } from '../v2/requests.ts';
import { badRequest } from './response.ts';

/** Longest range of a request by interval, milliseconds. */
export type RangeLimits = typeof longestRangeMs;

interface PointsRequest {
  readonly interval: Interval;
  readonly start?: EpochMs | undefined;
  readonly end?: EpochMs | undefined;
}

/**
 * The range of a history request. It has both bounds or neither; without bounds it is the most recent range of the
 * default length. @throws ServiceRefusal 400.
 */
export function historyRange(request: HistoryRequest, nowMs: EpochMs, limits: RangeLimits): TimeRange {
  const { interval, start, end } = request;
  if (start === undefined && end === undefined) return { startMs: nowMs - defaultRangeMs[interval], endMs: nowMs };
  if (start === undefined) throw badRequest('query requires start');
  if (end === undefined) throw badRequest('query requires end');
  return checked({ startMs: start, endMs: end }, interval, limits[interval]);
}

/**
 * The range of a request of candles or other points. `start` and `end` are optional independently: one alone means the
 * longest range that begins or ends there. @throws ServiceRefusal 400.
 */
export function pointsRange(request: PointsRequest, nowMs: EpochMs, limits: RangeLimits): TimeRange {
  const { interval, start, end } = request;
  const longestMs = limits[interval];
  if (start === undefined && end === undefined) {
    // Up to the end of the open period: its point is included.
    const endMs = nowMs + intervalMs[interval];
    return { startMs: endMs - defaultRangeMs[interval], endMs };
  }
  const startMs = start ?? Math.max(0, (end ?? 0) - longestMs);
  return checked({ startMs, endMs: end ?? startMs + longestMs }, interval, longestMs);
}

function checked(range: TimeRange, interval: string, longestMs: number): TimeRange {
  if (range.startMs >= range.endMs) throw badRequest('start must be before end');
  if (range.endMs - range.startMs > longestMs) {
    throw badRequest(`range exceeds ${longestMs / dayMs} days, the longest for interval ${interval}`);
  }
  return range;
}
