/**
 * What a plan will cost, before anything is asked for: requests, time, points; and how fresh the budget keeps what is
 * followed.
 */

import { dayMs, intervalMs, minuteMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { hasOpenPoint } from './closed.ts';
import { lengthMs, type Range } from './ranges.ts';
import type { RereadSettings } from './reread.ts';
import { requestsFor } from './windows.ts';

export interface PlannedSeries {
  readonly series: SeriesKey;
  /** What is missing of it, up to the last closed period. */
  readonly missing: readonly Range[];
  /** Whether it is followed into the future. */
  readonly isFollowed: boolean;
  /** Points a period of what is stored; null: nothing is, and every period may have one. */
  readonly density: number | null;
}

export interface CostRules {
  readonly longestRangeMs: (series: SeriesKey) => number;
  /** 0: the source has no limit. */
  readonly requestsPerMinute: number;
  /** Part of the budget that refreshes leave to backfill. */
  readonly backfillShare: number;
  /** Least time between two readings of an open candle. */
  readonly refreshMs: number;
  readonly reread: RereadSettings;
  /** Time between two polls of each list that is polled. */
  readonly pollsEveryMs: readonly number[];
}

export interface Cost {
  readonly dataset: SeriesKey['dataset'];
  readonly series: number;
  readonly missingMs: number;
  /** One for each window; second answers of what turns out to be empty come on top. */
  readonly requests: number;
  /** At most: a period without trades has none. */
  readonly points: number;
}

export interface Freshness {
  /** Requests a minute that it takes to read every new period in time, and open candles as often as wanted. */
  readonly refreshPerMinute: number;
  /** The same for reading the trailing range again, and for polls. */
  readonly rereadPerMinute: number;
  readonly pollPerMinute: number;
  /** The most often that any series is to be read, milliseconds; null: none is followed. */
  readonly wantedEveryMs: number | null;
  /** How often it will be read: later than wanted where the budget is too small; null: never. */
  readonly everyMs: number | null;
  /** The same as long as there is something to backfill, which keeps its share. */
  readonly everyMsInBackfill: number | null;
  /** Requests a minute that would do for all of it. */
  readonly neededPerMinute: number;
  /** How many of those that are wanted most often the budget has room for, beside all others. */
  readonly mostThatFit: number;
}

export interface Estimate {
  readonly costs: readonly Cost[];
  readonly requests: number;
  readonly points: number;
  /** At the budget, beside the refreshes; null without a limit. */
  readonly durationMs: number | null;
  readonly freshness: Freshness;
}

export function estimate(planned: readonly PlannedSeries[], rules: CostRules): Estimate {
  const costs = (['candles', 'asset_history'] as const).flatMap((dataset) => {
    const of = planned.filter(({ series }) => series.dataset === dataset);
    return of.length === 0 ? [] : [costOf(dataset, of, rules)];
  });
  const freshness = freshnessOf(planned, rules);
  const requests = sum(costs.map((cost) => cost.requests));
  const { requestsPerMinute, backfillShare } = rules;
  const constant = freshness.rereadPerMinute + freshness.pollPerMinute;
  // Refreshes take what they need, and leave backfill its share.
  const perMinute =
    requestsPerMinute -
    Math.min(freshness.refreshPerMinute + constant, requestsPerMinute * (1 - backfillShare));
  return {
    costs,
    requests,
    points: sum(costs.map((cost) => cost.points)),
    durationMs: requestsPerMinute === 0 ? null : (requests / perMinute) * minuteMs,
    freshness,
  };
}

function costOf(dataset: Cost['dataset'], planned: readonly PlannedSeries[], rules: CostRules): Cost {
  return {
    dataset,
    series: planned.length,
    missingMs: sum(planned.map(({ missing }) => lengthMs(missing))),
    requests: sum(
      planned.flatMap(({ series, missing }) => {
        const longestMs = rules.longestRangeMs(series);
        return missing.map((range) => requestsFor(range, longestMs));
      }),
    ),
    points: sum(
      planned.map(({ series, missing, density }) =>
        Math.round((lengthMs(missing) / intervalMs[series.interval]) * (density ?? 1)),
      ),
    ),
  };
}

function freshnessOf(planned: readonly PlannedSeries[], rules: CostRules): Freshness {
  const followed = planned.filter(({ isFollowed }) => isFollowed).map(({ series }) => series);
  const wanted = followed.map((series) => refreshEveryMs(series, rules.refreshMs));
  const { rangeMs, everyMs } = rules.reread;
  const rereadPerMinute =
    rangeMs === 0
      ? 0
      : (sum(followed.map((series) => Math.ceil(rangeMs / rules.longestRangeMs(series)))) * minuteMs) /
        everyMs;
  const pollPerMinute = perMinuteOf(rules.pollsEveryMs);
  const { requestsPerMinute, backfillShare } = rules;
  const wantedEveryMs = wanted.length === 0 ? null : wanted.reduce((a, b) => Math.min(a, b));
  const every = (share: number) =>
    requestsPerMinute === 0
      ? wantedEveryMs
      : sharedEveryMs(wanted, requestsPerMinute * share - rereadPerMinute - pollPerMinute);
  const refreshPerMinute = perMinuteOf(wanted);
  const neededPerMinute = refreshPerMinute + rereadPerMinute + pollPerMinute;
  const most = wanted.filter((ms) => ms === wantedEveryMs);
  const room = requestsPerMinute - (neededPerMinute - perMinuteOf(most));
  const fit = Math.max(0, Math.floor((room * (wantedEveryMs ?? 0)) / minuteMs));
  return {
    ...{ refreshPerMinute, rereadPerMinute, pollPerMinute, wantedEveryMs },
    everyMs: every(1),
    everyMsInBackfill: every(1 - backfillShare),
    neededPerMinute: Math.ceil(neededPerMinute),
    mostThatFit: requestsPerMinute === 0 ? most.length : Math.min(most.length, fit),
  };
}

/** How often a series that is followed is read: for every period that closes, and for the one that is open. */
export function refreshEveryMs(series: SeriesKey, refreshMs: number): number {
  const periodMs = intervalMs[series.interval];
  return hasOpenPoint(series) ? Math.min(periodMs, Math.max(refreshMs, 1)) : Math.max(periodMs, dayMs);
}

/**
 * How often those that are wanted most often can be read when all share `perMinute`, and who is furthest behind comes
 * first: then nobody is further behind than T, who is wanted less often than every T is on time, and the sum of
 * 1 / max(T, wanted) is what there is.
 *
 * @returns milliseconds, not below what is wanted; null when nothing is left for them.
 */
export function sharedEveryMs(wantedEveryMs: readonly number[], perMinute: number): number | null {
  const wanted = [...wantedEveryMs].sort((a, b) => a - b);
  const [most] = wanted;
  if (most === undefined) return null;
  let onTime = perMinuteOf(wanted);
  if (onTime <= perMinute) return most;
  if (perMinute <= 0) return null;
  for (const [index, everyMs] of wanted.entries()) {
    onTime -= minuteMs / everyMs;
    const left = perMinute - onTime;
    const sharedMs = left > 0 ? ((index + 1) * minuteMs) / left : Number.POSITIVE_INFINITY;
    const nextMs = wanted[index + 1] ?? Number.POSITIVE_INFINITY;
    if (sharedMs <= nextMs) return sharedMs;
  }
  return null;
}

function perMinuteOf(everyMs: readonly number[]): number {
  return sum(everyMs.map((ms) => minuteMs / ms));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
