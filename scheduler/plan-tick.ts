/** One planning pass: what is missing, minus what is queued, cut into windows, as many as the queue has room for. */

import type { EpochMs } from '../contract/intervals.ts';
import { freeSlots } from '../planning/budget.ts';
import { type Plan, planWindows, type SeriesGaps } from '../planning/plan.ts';
import { clip, type Range } from '../planning/ranges.ts';
import { longestRange, type RangeLimits } from '../planning/windows.ts';
import type { RequestQueue } from '../queue/requests.ts';
import type { Database } from '../store/database.ts';
import { seriesWithGaps } from '../store/gaps.ts';
import { fetchesSince } from '../store/ledger.ts';
import { longestRanges } from '../store/longest-ranges.ts';

export interface TickParts {
  readonly database: Database;
  readonly requests: RequestQueue;
  /** 0: the source has no limit. */
  readonly requestsPerMinute: number;
  readonly backfillShare: number;
  readonly graceMs: number;
  /** Least time between two readings of an open candle; null: only what is closed is asked for. */
  readonly openRefreshMs: number | null;
  /** Only these series; absent: all that are tracked. */
  readonly seriesIds?: readonly number[] | undefined;
  /** Of each of them only what lies within; absent: all that is tracked. */
  readonly within?: ReadonlyMap<number, Range> | undefined;
  readonly rangeLimits?: RangeLimits | undefined;
}

export interface Tick {
  /** Windows added. */
  readonly added: number;
  /** Windows in the queue or under way after the pass. */
  readonly queued: number;
  /** Where the next pass takes up the round of series. */
  readonly cursor: number;
}

/** Gaps read of each series at first. Of a thousand series that is far more than the queue has room for. */
export const fewRangesPerSeries = 1;
/** How many times as many are read when those were not enough: of a single series with many small gaps. */
const moreRanges = 8;

/**
 * Two passes at once lose nothing: they see the same gaps, cut them the same way, and a window that is queued
 * already is not queued again. That none is asked for twice takes one pass at a time, which the queue sees to.
 */
export async function planTick(parts: TickParts, nowMs: EpochMs, cursor: number): Promise<Tick> {
  const { database, requests, graceMs } = parts;
  // In this order: a window that ends in between is then both claimed and covered, and not asked for twice.
  const claimed = await requests.claimedWindows();
  const { refresh, backfill, probe } = claimed.load;
  const queued = refresh + backfill + probe;
  const started = await fetchesSince(database, nowMs - 60_000);
  const slots = freeSlots({
    requestsPerMinute: parts.requestsPerMinute,
    backfillShare: parts.backfillShare,
    queued: { refresh, backfill: backfill + probe },
    refreshesStarted: started.refresh,
  });
  if (slots.total === 0) return { added: 0, queued, cursor };
  const accepted = await longestRanges(database);

  const planFrom = (series: readonly SeriesGaps[]) =>
    planWindows({
      series: series.map((entry) => {
        const bounds = parts.within?.get(entry.seriesId);
        return bounds === undefined ? entry : { ...entry, gaps: clip(entry.gaps, bounds) };
      }),
      claimed: claimed.windows,
      nowMs,
      graceMs,
      longestRangeMs: (key) => longestRange(key, parts.rangeLimits, accepted),
      slots,
      cursor,
    });
  let plan: Plan;
  let isAll: boolean;
  let rangesPerSeries = fewRangesPerSeries;
  do {
    const { openRefreshMs, seriesIds } = parts;
    const series = await seriesWithGaps(database, {
      nowMs,
      graceMs,
      openRefreshMs,
      seriesIds,
      rangesPerSeries,
    });
    plan = planFrom(series);
    const mostRead = rangesPerSeries;
    isAll = series.every(({ gaps }) => gaps.length <= mostRead);
    rangesPerSeries *= moreRanges;
  } while (plan.windows.length < slots.total && !isAll);
  await requests.addWindows(plan.windows);
  const added = plan.windows.length;
  return { added, queued: queued + added, cursor: plan.cursor };
}
