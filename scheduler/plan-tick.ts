/** One planning pass: gaps minus claimed windows, cut into as many windows and pages as the budget has slots. */

import { dayMs, type EpochMs } from '../model/intervals.ts';
import type { SeriesKey } from '../model/series.ts';
import type { Limit } from '../model/sources.ts';
import type { Window } from '../model/windows.ts';
import { type FreeSlots, freeSlots, rereadSlots, windowCost } from '../planning/budget.ts';
import { beyondDepthText } from '../planning/periods.ts';
import type { Plan, SeriesGaps } from '../planning/plan.ts';
import type { PollPage } from '../planning/polls.ts';
import { planRereads, type RereadSettings, roundStart } from '../planning/reread.ts';
import { pageJobId } from '../queue/jobs.ts';
import type { RequestQueue } from '../queue/requests.ts';
import { deferUpstreamGaps } from '../store/commit/deferred-windows.ts';
import { readDueRereads } from '../store/commit/reread.ts';
import { type Database, inTransaction } from '../store/db/database.ts';
import { costSince, countFetchesSince } from '../store/ledger/ledger.ts';
import { beginPolls, cutOff, giveUpPolls, isCutOff, openPages } from '../store/lists/polls.ts';
import { seriesWithGaps } from '../store/series/gaps.ts';
import { readPause } from '../store/settings/settings.ts';
import { type SeriesParts, seriesPlanner } from './series-plan.ts';

export interface TickParts extends SeriesParts {
  readonly requests: RequestQueue;
  /** The source's limit of a long period, such as the credits of a month; null or absent: it has none. */
  readonly longLimit?: Limit | null | undefined;
  /** 0: the source has no limit. */
  readonly requestsPerMinute: number;
  readonly backfillShare: number;
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
  const { database, requests, source = null } = parts;
  // Claims before gaps: a window that ends between the two reads is then claimed, and not requested twice.
  const claimed = await requests.claimedWindows();
  const { refresh, backfill, probe, reread } = claimed.load;
  const queued = refresh + claimed.pages.size + backfill + probe + reread;
  if ((await readPause(database.pool)) !== null) return { added: 0, queued, cursor };
  const started = await countFetchesSince(database, nowMs - 60_000, source);
  const slots: { -readonly [Kind in keyof FreeSlots]: FreeSlots[Kind] } = freeSlots({
    requestsPerMinute: parts.requestsPerMinute,
    backfillShare: parts.backfillShare,
    // Pages rank before backfill, like refreshes, and share their slots.
    queued: { refresh: refresh + claimed.pages.size, backfill: backfill + probe, reread },
    refreshesStarted: started.refresh + started.poll,
  });
  const left = await leftOfLongLimit(parts, nowMs);
  // What is queued is not in the ledger yet: the next windows wait until it is known what these cost.
  if (left <= 0 || (left < Number.POSITIVE_INFINITY && queued > 0)) return { added: 0, queued, cursor };
  if (slots.total === 0) return { added: 0, queued, cursor };
  const planner = await seriesPlanner(parts, nowMs);
  const dueAgain = await rereads(parts, {
    nowMs,
    most: slots.total,
    claimed: claimed.windows,
    longestRangeMs: planner.longestRangeMs,
  });
  const again = dueAgain.filter(({ seriesId }) => planner.isLive(seriesId));
  const share = rereadSlots({ requestsPerMinute: parts.requestsPerMinute, queued: reread });
  const due =
    parts.polls === true ? await planPages(database, { claimed: claimed.pages, most: slots.refresh, nowMs }) : [];
  const reservedSlots = Math.min(again.length, share) + due.length;
  let plan: Plan;
  let isAll: boolean;
  let rangesPerSeries = fewRangesPerSeries;
  // A series whose windows are queued gives no other.
  let count = slots.total + claimed.windows.size;
  do {
    const maxRead = rangesPerSeries;
    const series = await seriesWithGaps(database, {
      ...parts,
      source,
      nowMs,
      rangesPerSeries,
      first: { count, cursor },
    });
    plan = planner.windowsOf(series, { claimed: claimed.windows, slots, reservedSlots, cursor });
    await deferBeyondDepth(parts, planner, series, nowMs);
    isAll = series.length < count && series.every(({ gaps }) => gaps.length <= maxRead);
    rangesPerSeries *= rangesFactor;
    count *= rangesFactor;
  } while (plan.windows.length < slots.total - reservedSlots && !isAll);
  // Pages also get the slots that backfill does not use.
  const refreshes = plan.windows.filter(({ lane }) => lane === 'refresh').length;
  const pages = due.slice(0, Math.max(0, slots.refresh - refreshes));
  const planned = [...plan.windows, ...again.slice(0, Math.max(0, slots.total - plan.windows.length - pages.length))];
  const windows = withinLongLimit(planned, parts, left);
  await requests.addWindows(windows);
  await requests.addPages(pages);
  const added = windows.length + pages.length;
  return { added, queued: queued + added, cursor: plan.cursor };
}

/** What is left of the source's long limit, in its unit. */
async function leftOfLongLimit({ database, source, longLimit }: TickParts, nowMs: EpochMs): Promise<number> {
  if (longLimit == null || source == null) return Number.POSITIVE_INFINITY;
  const { amount, periodMs, bytesEach } = longLimit;
  return amount - (await costSince(database, source, { sinceMs: nowMs - periodMs, bytesEach })).used;
}

/** The windows that the long limit allows, if each period has a row. */
function withinLongLimit(windows: readonly Window[], { longLimit }: TickParts, left: number): Window[] {
  if (longLimit == null) return [...windows];
  let rest = left;
  return windows.filter((window) => {
    const cost = windowCost(longLimit, window);
    if (cost > rest) return false;
    rest -= cost;
    return true;
  });
}

/** How often a range beyond a source's depth is looked at again: its series may have got another source. */
const beyondDepthRetryMs = dayMs;

/** Defers what the source no longer has: it stays a gap with this reason, and is never asked for. */
async function deferBeyondDepth(
  { database, source, depthPeriods }: TickParts,
  planner: Awaited<ReturnType<typeof seriesPlanner>>,
  series: readonly SeriesGaps[],
  nowMs: EpochMs,
): Promise<void> {
  if (depthPeriods == null) return;
  for (const entry of series) {
    const message = beyondDepthText(source ?? 'the source', entry.series, depthPeriods);
    for (const range of planner.lostOf(entry))
      await deferUpstreamGaps(database.pool, {
        seriesId: entry.seriesId,
        range,
        source,
        message,
        attempts: 0,
        nowMs,
        retryAtMs: nowMs + beyondDepthRetryMs,
      });
  }
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
  const { database, trailing, seriesIds, source = null } = parts;
  if (trailing === undefined || trailing.rangeMs === 0) return [];
  const { nowMs, most, claimed, longestRangeMs } = pass;
  const roundMs = roundStart(nowMs, trailing.everyMs);
  // The query also returns series with a queued reread, which are left out below.
  const waiting = [...claimed.values()].filter((windows) => windows.some(({ lane }) => lane === 'reread')).length;
  const due = await readDueRereads(database, {
    ...trailing,
    roundMs,
    nowMs,
    seriesIds,
    source,
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
