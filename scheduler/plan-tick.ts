/** One planning pass: gaps minus claimed windows, cut into as many windows and pages as the budget has slots. */

import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { freeSlots, rereadSlots } from '../planning/budget.ts';
import { type Plan, planWindows, type SeriesGaps } from '../planning/plan.ts';
import type { PollPage } from '../planning/polls.ts';
import { clip, type Range } from '../planning/ranges.ts';
import { planRereads, type RereadSettings, roundStart } from '../planning/reread.ts';
import { longestRange, type RangeLimits, type Window } from '../planning/windows.ts';
import { pageJobId } from '../queue/jobs.ts';
import type { RequestQueue } from '../queue/requests.ts';
import { type Database, inTransaction } from '../store/db/database.ts';
import { countFetchesSince } from '../store/ledger/ledger.ts';
import { beginPolls, cutOff, giveUpPolls, isCutOff, openPages } from '../store/lists/polls.ts';
import { readDueRereads } from '../store/recheck/reread.ts';
import { seriesWithGaps } from '../store/series/gaps.ts';
import { readLongestRanges } from '../store/settings/settings.ts';

export interface TickParts {
  readonly database: Database;
  readonly requests: RequestQueue;
  /** 0: the source has no limit. */
  readonly requestsPerMinute: number;
  readonly backfillShare: number;
  readonly graceMs: number;
  /** Shortest interval between two refreshes of an open candle; null: closed periods only. */
  readonly openRefreshMs: number | null;
  /** Only these series; absent: all tracked series. */
  readonly seriesIds?: readonly number[] | undefined;
  /** Range of each series to plan; absent: its tracked range. */
  readonly within?: ReadonlyMap<number, Range> | undefined;
  readonly rangeLimits?: RangeLimits | undefined;
  /** Closed periods that each refresh reads again; default 2. */
  readonly rereadPeriods?: number | undefined;
  /** Whether lists are polled. */
  readonly polls?: boolean | undefined;
  /** The recent days to read again, and how often; absent: none. */
  readonly trailing?: Omit<RereadSettings, 'periods'> | undefined;
}

export interface Tick {
  /** Windows and pages added. */
  readonly added: number;
  /** Windows and pages queued or active after the pass. */
  readonly queued: number;
  /** Where the next pass continues the round-robin over series. */
  readonly cursor: number;
}

/** Gaps read of each series first. For a thousand series this exceeds the free slots. */
export const fewRangesPerSeries = 1;
/** Factor for the next try, if a few series have many small gaps, or many series give no window. */
const rangesFactor = 8;

/**
 * Runs one pass. The queue runs one at a time, so that no window is requested twice. Concurrent passes would lose nothing:
 * they cut the same gaps into the same windows, and a window is queued only once.
 */
export async function planTick(parts: TickParts, nowMs: EpochMs, cursor: number): Promise<Tick> {
  const { database, requests, graceMs } = parts;
  // Claims before gaps: a window that ends between the two reads is then claimed, and not requested twice.
  const claimed = await requests.claimedWindows();
  const { refresh, backfill, probe, reread } = claimed.load;
  const queued = refresh + claimed.pages.size + backfill + probe + reread;
  const started = await countFetchesSince(database, nowMs - 60_000);
  const slots = freeSlots({
    requestsPerMinute: parts.requestsPerMinute,
    backfillShare: parts.backfillShare,
    // Pages rank before backfill, like refreshes, and share their slots.
    queued: { refresh: refresh + claimed.pages.size, backfill: backfill + probe, reread },
    refreshesStarted: started.refresh + started.poll,
  });
  if (slots.total === 0) return { added: 0, queued, cursor };
  const accepted = await readLongestRanges(database);
  const longestRangeMs = (key: SeriesKey) => longestRange(key, parts.rangeLimits, accepted);
  const again = await rereads(parts, { nowMs, most: slots.total, claimed: claimed.windows, longestRangeMs });
  const share = rereadSlots({ requestsPerMinute: parts.requestsPerMinute, queued: reread });
  const due =
    parts.polls === true
      ? await planPages(database, { claimed: claimed.pages, most: slots.refresh, nowMs })
      : [];
  const reservedSlots = Math.min(again.length, share) + due.length;

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
      reservedSlots,
      rereadPeriods: parts.rereadPeriods,
      cursor,
    });
  let plan: Plan;
  let isAll: boolean;
  let rangesPerSeries = fewRangesPerSeries;
  // A series whose windows are queued gives no other.
  let count = slots.total + claimed.windows.size;
  do {
    const maxRead = rangesPerSeries;
    const series = await seriesWithGaps(database, {
      ...parts,
      nowMs,
      rangesPerSeries,
      first: { count, cursor },
    });
    plan = planFrom(series);
    isAll = series.length < count && series.every(({ gaps }) => gaps.length <= maxRead);
    rangesPerSeries *= rangesFactor;
    count *= rangesFactor;
  } while (plan.windows.length < slots.total - reservedSlots && !isAll);
  // Pages also get the slots that backfill does not use.
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

/** Windows of the recent range of each series that this round has not read again yet. */
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
  // The query also returns series with a queued reread, which are left out below.
  const waiting = [...claimed.values()].filter((windows) =>
    windows.some(({ lane }) => lane === 'reread'),
  ).length;
  const due = await readDueRereads(database, {
    ...trailing,
    roundMs,
    nowMs,
    seriesIds,
    limit: most + waiting,
  });
  return planRereads({ due, claimed, longestRangeMs, roundMs, most });
}

/**
 * The pages to request now: begins due polls, and continues open ones.
 *
 * @param pass.claimed job ids of queued pages, read before the open pages.
 */
async function planPages(
  database: Database,
  pass: { claimed: ReadonlySet<string>; most: number; nowMs: EpochMs },
): Promise<PollPage[]> {
  const { claimed, most, nowMs } = pass;
  await beginPolls(database, nowMs);
  const pages: PollPage[] = [];
  for (const { answeredMs, ...page } of await openPages(database)) {
    if (claimed.has(pageJobId(page))) continue;
    if (isCutOff(answeredMs, nowMs)) {
      const given = { pollId: page.pollId, nowMs, reason: cutOff };
      await inTransaction(database, (client) => giveUpPolls(client, given));
    } else if (pages.length < most) pages.push(page);
  }
  return pages;
}
