/** The simulator's correct answers, and when their requests arrived. */

import { normalize, type Range } from '../../model/ranges.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { noFaults } from '../../simulator/faults/faults.ts';
import type { RequestCounts } from '../../simulator/requests.ts';

interface Asked extends Range {
  readonly name: string;
}

/**
 * The ranges of the series in answers without a fault, merged. For a stale answer, the periods that existed by its
 * time.
 */
export function answeredRanges({ recent, total }: RequestCounts, series: SeriesKey): Range[] {
  if (recent.length < total) throw new Error('the simulator has forgotten its first requests');
  const name = seriesName(series);
  const ranges: Range[] = [];
  for (const { url, status, fault, atMs } of recent) {
    if (status !== 200 || (fault !== null && fault !== 'stale')) continue;
    const asked = askedFor(url);
    if (asked?.name !== name) continue;
    const endMs = fault === 'stale' ? Math.min(asked.endMs, atMs - noFaults.staleMs) : asked.endMs;
    if (asked.startMs < endMs) ranges.push({ startMs: asked.startMs, endMs });
  }
  return normalize(ranges);
}

function askedFor(address: string): Asked | null {
  const url = new URL(address, 'http://localhost');
  const query = (name: string) => url.searchParams.get(name) ?? '';
  const range = { startMs: Number(query('start')), endMs: Number(query('end')) };
  if (url.pathname === '/v2/candles') {
    const pair = `${query('exchange')} ${query('baseId')}/${query('quoteId')}`;
    return { name: `${pair} ${query('interval')}`, ...range };
  }
  const [, id] = /^\/v2\/assets\/([^/]+)\/history$/.exec(url.pathname) ?? [];
  return id === undefined ? null : { name: `${decodeURIComponent(id)} ${query('interval')}`, ...range };
}

/** Requests beyond the budget over any span of time: on any machine at most those in flight arrive in a burst. */
export function maxBeyondBudget({ recent }: RequestCounts, requestsPerMinute: number): number {
  const spacingMs = 60_000 / requestsPerMinute;
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const [place, { monotonicMs }] of recent.entries()) {
    const ahead = place - monotonicMs / spacingMs;
    least = Math.min(least, ahead);
    most = Math.max(most, ahead - least);
  }
  return most;
}
