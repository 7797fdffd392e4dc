/**
 * Estimates a plan before any request is made: requests, time, points, disk space, and how fresh the budget keeps
 * followed series.
 */

import { datasetNames, datasetOf, datasets } from '../model/datasets/index.ts';
import { dayMs, type EpochMs, hourMs, intervalMs, minuteMs } from '../model/intervals.ts';
import { clip, lengthMs, type Range } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';
import { sum } from '../model/sum.ts';
import { hasOpenPoint } from './periods.ts';
import type { RereadSettings } from './reread.ts';

export interface PlannedSeries {
  readonly series: SeriesKey;
  /** Missing ranges up to the last closed period. */
  readonly missing: readonly Range[];
  /** Requests for them: one for each window of the planner, two with a checksum. */
  readonly requests: number;
  /** Whether it is followed into the future. */
  readonly isFollowed: boolean;
  /** Stored points per period; null: nothing is stored. */
  readonly density: number | null;
}

export interface EstimateRules {
  readonly longestRangeMs: (series: SeriesKey) => number;
  /** 0: the source has no limit. */
  readonly requestsPerMinute: number;
  /** Share of the budget that is reserved for backfill. */
  readonly backfillShare: number;
  /** Minimum time between two fetches of an open candle. */
  readonly refreshMs: number;
  readonly reread: RereadSettings;
  /** Time between two polls of each list that is polled. */
  readonly pollsEveryMs: readonly number[];
}

export interface Cost {
  readonly dataset: SeriesKey['dataset'];
  readonly series: number;
  readonly missingMs: number;
  /** Second requests for empty windows are not included. */
  readonly requests: number;
  /** Upper bound: a period without trades has no point. */
  readonly points: number;
}

export interface Freshness {
  /** Requests per minute for new periods and open candles at the wanted cadence. */
  readonly refreshPerMinute: number;
  /** Requests per minute for re-reading the trailing range, and for polls. */
  readonly rereadPerMinute: number;
  readonly pollPerMinute: number;
  /** The shortest wanted refresh interval; null: no series is followed. */
  readonly wantedEveryMs: number | null;
  /** The refresh interval that the budget allows for it; null: never refreshed. */
  readonly everyMs: number | null;
  /** The same while a backfill keeps its reserved share. */
  readonly everyMsInBackfill: number | null;
  /** The budget that would be enough. */
  readonly neededPerMinute: number;
  /** Number of series at `wantedEveryMs` that the budget can refresh in time, next to all others. */
  readonly maxThatFit: number;
}

export interface Estimate {
  readonly costs: readonly Cost[];
  readonly requests: number;
  readonly points: number;
  /** At the budget, next to refreshes; null: no limit. */
  readonly durationMs: number | null;
  readonly freshness: Freshness;
}

export function estimate(planned: readonly PlannedSeries[], rules: EstimateRules): Estimate {
  const costs = datasetNames.flatMap((dataset) => {
    const of = planned.filter(({ series }) => series.dataset === dataset);
    return of.length === 0 ? [] : [costOf(dataset, of)];
  });
  const freshness = freshnessOf(planned, rules);
  const requests = sum(costs.map((cost) => cost.requests));
  const { requestsPerMinute, backfillShare } = rules;
  const constant = freshness.rereadPerMinute + freshness.pollPerMinute;
  // Refreshes take their share first, up to the reserve of backfill.
  const perMinute =
    requestsPerMinute - Math.min(freshness.refreshPerMinute + constant, requestsPerMinute * (1 - backfillShare));
  return {
    costs,
    requests,
    points: sum(costs.map((cost) => cost.points)),
    durationMs: requestsPerMinute === 0 ? null : (requests / perMinute) * minuteMs,
    freshness,
  };
}

/** Points per period of a series of which nothing is stored. Events are as rare as a rule. */
function usualDensity({ dataset, interval }: SeriesKey): number {
  const { time } = datasetOf(dataset);
  return time.density === 'linked' ? intervalMs[interval] / time.longestMs : 1;
}

function costOf(dataset: Cost['dataset'], planned: readonly PlannedSeries[]): Cost {
  return {
    dataset,
    series: planned.length,
    missingMs: sum(planned.map(({ missing }) => lengthMs(missing))),
    requests: sum(planned.map(({ requests }) => requests)),
    points: sum(
      planned.map(({ series, missing, density }) =>
        Math.round((lengthMs(missing) / intervalMs[series.interval]) * (density ?? usualDensity(series))),
      ),
    ),
  };
}

function freshnessOf(planned: readonly PlannedSeries[], rules: EstimateRules): Freshness {
  const followed = planned.filter(({ isFollowed }) => isFollowed);
  const wanted = followed.map((one) => refreshEveryMs(one, rules.refreshMs));
  const { rangeMs, everyMs } = rules.reread;
  const rereadPerMinute =
    rangeMs === 0
      ? 0
      : (sum(followed.map(({ series }) => Math.ceil(rangeMs / rules.longestRangeMs(series)))) * minuteMs) / everyMs;
  const pollPerMinute = perMinuteOf(rules.pollsEveryMs);
  const { requestsPerMinute, backfillShare } = rules;
  const refreshPerMinute = perMinuteOf(wanted);
  const neededPerMinute = refreshPerMinute + rereadPerMinute + pollPerMinute;
  const wantedEveryMs = wanted.length === 0 ? null : wanted.reduce((a, b) => Math.min(a, b));
  /** Refreshes slow down in proportion when `share` of the budget is too small for them. */
  const every = (share: number) => {
    if (wantedEveryMs === null || requestsPerMinute === 0) return wantedEveryMs;
    const left = requestsPerMinute * share - rereadPerMinute - pollPerMinute;
    return left <= 0 ? null : wantedEveryMs * Math.max(1, refreshPerMinute / left);
  };
  const most = wanted.filter((ms) => ms === wantedEveryMs);
  const room = requestsPerMinute - (neededPerMinute - perMinuteOf(most));
  const fit = Math.max(0, Math.floor((room * (wantedEveryMs ?? 0)) / minuteMs));
  return {
    refreshPerMinute,
    rereadPerMinute,
    pollPerMinute,
    wantedEveryMs,
    everyMs: every(1),
    everyMsInBackfill: every(1 - backfillShare),
    neededPerMinute: Math.ceil(neededPerMinute),
    maxThatFit: requestsPerMinute === 0 ? most.length : Math.min(most.length, fit),
  };
}

/** Refresh interval of a followed series: once per period or event, and more often for an open candle. */
function refreshEveryMs({ series, density }: Pick<PlannedSeries, 'series' | 'density'>, refreshMs: number): number {
  const periodMs = intervalMs[series.interval];
  if (hasOpenPoint(series)) return Math.min(periodMs, Math.max(refreshMs, 1));
  if (datasetOf(series.dataset).time.density !== 'linked') return periodMs;
  return periodMs / Math.max(density ?? 0, usualDensity(series));
}

function perMinuteOf(everyMs: readonly number[]): number {
  return sum(everyMs.map((ms) => minuteMs / ms));
}

export interface DiskRules {
  /** Bytes of a point or rollup including indexes: as a row, and in its final form. */
  readonly bytes: { readonly row: number; readonly kept: number };
  /** The newest days that stay rows. */
  readonly rowDays: number;
  readonly nowMs: EpochMs;
  /** Share of the missing points that arrive within an hour. */
  readonly hourlyShare: number;
}

export interface Disk {
  readonly bytes: number;
  /** Peak of rows: those that arrive within an hour, until the columnstore's hourly policy runs. */
  readonly peakBytes: number;
}

/** @param planned series of one dataset. */
export function diskFor(
  planned: readonly Pick<PlannedSeries, 'series' | 'missing' | 'density'>[],
  rules: DiskRules,
): Disk {
  const { row, kept } = rules.bytes;
  const newest = { startMs: rules.nowMs - rules.rowDays * dayMs, endMs: Number.POSITIVE_INFINITY };
  let older = 0;
  let rows = 0;
  for (const { series, missing, density } of planned) {
    const points = (ranges: typeof missing) =>
      (lengthMs(ranges) / intervalMs[series.interval]) *
      (density ?? usualDensity(series)) *
      (1 + rollupsPerPoint(series));
    const young = points(clip(missing, newest));
    rows += young;
    older += points(missing) - young;
  }
  const bytes = rows * row + older * kept;
  return { bytes, peakBytes: bytes + older * rules.hourlyShare * (row - kept) };
}

/** Hours and days that are stored of a series, for each of its points: see docs/rollups.md. */
function rollupsPerPoint({ dataset, interval }: SeriesKey): number {
  if (datasets[dataset].longer !== 'rolled up') return 0;
  const periodMs = intervalMs[interval];
  return sum([hourMs, dayMs].map((rollupMs) => (periodMs < rollupMs ? periodMs / rollupMs : 0)));
}

/** Of all datasets. */
export function diskInAll(disk: Readonly<Record<SeriesKey['dataset'], Disk>>, what: keyof Disk): number {
  return sum(Object.values(disk).map((one) => one[what]));
}

/** @param durationMs duration of the backfill; null: the source has no limit. */
export function hourlyShareOf(durationMs: number | null): number {
  return durationMs === null ? 1 : Math.min(1, hourMs / Math.max(1, durationMs));
}
