/** What the stream tells of a store in which all is well, and of one series of it. */

import type { SeriesLine, Summary } from '../../dashboard/shapes.ts';
import { hourMs } from '../../model/intervals.ts';
import { databaseAway } from '../../planning/headline.ts';

export const quietSummary: Summary = {
  nowMs: 0,
  synthetic: false,
  perMinute: 200,
  queue: null,
  state: {
    headline: databaseAway('none'),
    also: [],
    left: 0,
    requests: 0,
    wantedMs: 0,
    coveredMs: 0,
    etaMs: null,
    waiting: null,
  },
  serviceMessage: null,
  lists: [],
  sources: [],
  rejected: 0,
  requests: { startMs: 0, lanes: {}, failed: [] },
  database: 'none',
};

/** A complete series of 100 hours from the beginning of 1970. */
export function seriesLine(of: Partial<SeriesLine> = {}): SeriesLine {
  return {
    ...{ id: 1, name: 'kraken bitcoin/euro h1', exchange: 'kraken', interval: 'h1', periodMs: hourMs },
    ...{ fromMs: 0, toMs: null, wantedMs: 100 * hourMs, coveredMs: 100 * hourMs, emptyMs: 0, missingMs: 0 },
    ...{ failedMs: 0, beyondDepthMs: 0, awaitingMs: 0, gaps: 0, requestsLeft: 0, requests: 1 },
    ...{ behindMs: 0, silentSinceMs: null, readMs: null },
    ...{ points: 100, newestMs: 99 * hourMs, revised: 0, blocked: null, queued: 0, active: 0, version: 'a' },
    ...of,
  };
}
