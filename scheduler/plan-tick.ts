/** One planning pass: what is missing, minus what is queued, cut into windows, as many as the queue has room for. */

import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { freeSlots, rereadSlots } from '../planning/budget.ts';
import { type Plan, planWindows, type SeriesGaps } from '../planning/plan.ts';
import { clip, type Range } from '../planning/ranges.ts';
import { planRereads, type RereadSettings, roundStart } from '../planning/reread.ts';
import { longestRange, type RangeLimits, type Window } from '../planning/windows.ts';
import type { RequestQueue } from '../queue/requests.ts';
import type { Database } from '../store/database.ts';
import { seriesWithGaps } from '../store/gaps.ts';
import { fetchesSince } from '../store/ledger.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { rereadsDue } from '../store/reread.ts';
import { planPages } from './plan-pages.ts';

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
  /** Closed periods that each refresh reads again; two unless given. */
  readonly rereadPeriods?: number | undefined;
  /** Whether lists are polled. */
  readonly polls?: boolean | undefined;
  /** Which days are read again, and how often; absent: none. */
  readonly trailing?: Omit<RereadSettings, 'periods'> | undefined;
}

export interface Tick {
  /** Windows and pages added. */
  readonly added: number;
  /** Windows and pages in the queue or under way after the pass. */
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
  const { refresh, backfill, probe, reread } = claimed.load;
  const queued = refresh + claimed.pages.size + backfill + probe + reread;
  const started = await fetchesSince(database, nowMs - 60_000);
  const slots = freeSlots({
    requestsPerMinute: parts.requestsPerMinute,
    backfillShare: parts.backfillShare,
    // Pages come before backfill as refreshes do, so that they share what backfill leaves.
    queued: { refresh: refresh + claimed.pages.size, backfill: backfill + probe, reread },
    refreshesStarted: started.refresh + started.poll,
  });
  if (slots.total === 0) return { added: 0, queued, cursor };
  const accepted = await longestRanges(database);
  const longestRangeMs = (key: SeriesKey) => longestRange(key, parts.rangeLimits, accepted);
  const again = await rereads(parts, { nowMs, most: slots.total, claimed: claimed.windows, longestRangeMs });
  const share = rereadSlots({ requestsPerMinute: parts.requestsPerMinute, queued: reread });
  const due =
    parts.polls === true
      ? await planPages(database, { claimed: claimed.pages, most: slots.refresh, nowMs })
      : [];
  const spared = Math.min(again.length, share) + due.length;

  const planFrom = (series: readonly SeriesGaps[]) =>
    planWindows({
      series: series.map((entry) => {
        const bounds = parts.within?.get(entry.seriesId);
        return bounds === undefined ? entry : { ...entry, gaps: clip(entry.gaps, bounds) };
      }),
      claimed: claimed.windows,
      nowMs,
      graceMs,
      longestRangeMs,
      slots,
      spared,
      rereadPeriods: parts.rereadPeriods,
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
  } while (plan.windows.length < slots.total - spared && !isAll);
  // What backfill has no use for is theirs too, and of what refreshes take they have nothing.
  const refreshes = plan.windows.filter(({ lane }) => lane === 'refresh').length;
  const pages = due.slice(0, Math.max(0, slots.refresh - refreshes));
  const windows = [
    ...plan.windows,
    ...again.slice(0, Math.max(0, slots.total - plan.windows.length - pages.length)),
  ];
  await requests.addWindows(windows);
  await requests.addPages(pages);
  const added = windows.length + pages.length;
  return { added, queued: queued + added, cursor: plan.cursor };
}

/** What the trailing range of every series still wants of this round. */
async function rereads(
  parts: TickParts,
  pass: {
    nowMs: EpochMs;
    most: number;
    claimed: Awaited<ReturnType<RequestQueue['claimedWindows']>>['windows'];
    longestRangeMs: (key: SeriesKey) => number;
  },
): Promise<Window[]> {
  const { database, trailing, seriesIds } = parts;
  if (trailing === undefined || trailing.rangeMs === 0) return [];
  const { nowMs, most, claimed, longestRangeMs } = pass;
  const roundMs = roundStart(nowMs, trailing.everyMs);
  // Those on their way are found as well, and left out below.
  const waiting = [...claimed.values()].filter((windows) =>
    windows.some(({ lane }) => lane === 'reread'),
  ).length;
  const due = await rereadsDue(database, { ...trailing, roundMs, nowMs, seriesIds, most: most + waiting });
  return planRereads({ due, claimed, longestRangeMs, roundMs, most });
}
