/** One planning pass: what is missing, minus what is queued, cut into windows, as many as the queue has room for. */

import type { EpochMs } from '../contract/intervals.ts';
import { freeSlots } from '../planning/budget.ts';
import { planWindows } from '../planning/plan.ts';
import { longestRange, type RangeLimits } from '../planning/windows.ts';
import type { RequestQueue } from '../queue/requests.ts';
import type { Database } from '../store/database.ts';
import { seriesWithGaps } from '../store/gaps.ts';
import { fetchesSince } from '../store/ledger.ts';

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

/** Gaps read of each series in a pass: far more than its turn in a minute's budget comes to. */
export const rangesPerSeries = 64;

/**
 * Two passes at once lose nothing: they see the same gaps, cut them the same way, and a window that is queued
 * already is not queued again. That none is asked for twice takes one pass at a time, which the queue sees to.
 */
export async function planTick(parts: TickParts, nowMs: EpochMs, cursor: number): Promise<Tick> {
  const { database, requests, graceMs } = parts;
  // In this order: a window that ends in between is then both claimed and covered, and not asked for twice.
  const claimed = await requests.claimedWindows();
  const [series, started] = await Promise.all([
    seriesWithGaps(database, {
      nowMs,
      graceMs,
      openRefreshMs: parts.openRefreshMs,
      seriesIds: parts.seriesIds,
      rangesPerSeries,
    }),
    fetchesSince(database, nowMs - 60_000),
  ]);
  const plan = planWindows({
    series,
    claimed: claimed.windows,
    nowMs,
    graceMs,
    longestRangeMs: (key) => longestRange(key, parts.rangeLimits),
    slots: freeSlots({
      requestsPerMinute: parts.requestsPerMinute,
      backfillShare: parts.backfillShare,
      queued: claimed.load,
      refreshesStarted: started.refresh,
    }),
    cursor,
  });
  await requests.addWindows(plan.windows);
  const added = plan.windows.length;
  return { added, queued: claimed.load.refresh + claimed.load.backfill + added, cursor: plan.cursor };
}
