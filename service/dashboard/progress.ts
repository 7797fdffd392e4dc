/** How far the backfill is, and when it will be done: from what is left and the rate at which it is really done. */

import type { RequestMinutes, SeriesLine, Summary } from './shapes.ts';

/** What fills gaps. */
const lanes = ['backfill', 'probe'] as const;
/** Over how many whole minutes the rate is taken. */
const looked = 10;
const minuteMs = 60_000;

export interface Progress {
  readonly requests: number;
  readonly left: number;
  /** Left as well, but of series that the source refuses as a whole: nobody asks for them for now. In none of the others. */
  readonly refused: number;
  /** Requests a minute that filled gaps of late. */
  readonly perMinute: number;
  /** Null: nothing is left, or nothing is being done, or there is nobody to do it. */
  readonly expectedMs: number | null;
}

export function backfillProgress(
  series: readonly SeriesLine[],
  { requests: minutes, queue }: Pick<Summary, 'requests' | 'queue'>,
  nowMs: number,
): Progress {
  const asked = series.filter(({ blocked }) => blocked === null);
  const left = sum(asked.map(({ requestsLeft }) => requestsLeft));
  const refusing = series.filter(({ blocked }) => blocked !== null);
  const refused = sum(refusing.map(({ requestsLeft }) => requestsLeft));
  // What a refused series has already counts as done.
  const done = sum(refusing.map((line) => Math.max(0, line.requests - line.requestsLeft)));
  const requests = Math.max(left, sum(asked.map((line) => line.requests)) + done);
  const perMinute = rateOf(minutes, nowMs);
  const isDone = perMinute > 0 && queue?.workers !== 0;
  return {
    requests,
    left,
    refused,
    perMinute,
    expectedMs: left > 0 && isDone ? (left / perMinute) * minuteMs : null,
  };
}

/** Since the first of the looked-at minutes in which anything was done: a backfill may have begun a moment ago. */
function rateOf({ startMs, lanes: counts, failed }: RequestMinutes, nowMs: number): number {
  const done = failed.map((_, place) => sum(lanes.map((lane) => counts[lane]?.[place] ?? 0)));
  const last = done.length;
  const first = done.findIndex((requests, place) => place >= last - 1 - looked && requests > 0);
  if (first === -1) return 0;
  const spanMs = Math.max(minuteMs / 6, nowMs - (startMs + first * minuteMs));
  return (sum(done.slice(first)) / spanMs) * minuteMs;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
