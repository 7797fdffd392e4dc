/** One planning pass: gaps minus claimed windows, cut into as many windows and pages as the budget has slots. */

import { dayMs, type EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { ArchiveFiles, Limit } from '../contract/sources.ts';
import { isSought, probedSeries } from '../planning/beginning.ts';
import { type FreeSlots, freeSlots, rereadSlots, windowCost } from '../planning/budget.ts';
import { beyondDepthText, oldestKept } from '../planning/periods.ts';
import { type Plan, planWindows, type SeriesGaps } from '../planning/plan.ts';
import type { PollPage } from '../planning/polls.ts';
import { clip, type Range } from '../planning/ranges.ts';
import { planRereads, type RereadSettings, roundStart } from '../planning/reread.ts';
import {
  archivedUpTo,
  archiveShare,
  cutByFile,
  nextShare,
  passedOverAfterMs,
} from '../planning/source-share.ts';
import { longestRange, type RangeLimits, type Window } from '../planning/windows.ts';
import { pageJobId } from '../queue/jobs.ts';
import type { RequestQueue } from '../queue/requests.ts';
import { deferUpstreamGaps } from '../store/commit/deferred-windows.ts';
import { type Database, inTransaction } from '../store/db/database.ts';
import { costSince, countFetchesSince } from '../store/ledger/ledger.ts';
import { readOutageOf } from '../store/ledger/source-outage.ts';
import { beginPolls, cutOff, giveUpPolls, isCutOff, openPages } from '../store/lists/polls.ts';
import { readDueRereads } from '../store/recheck/reread.ts';
import { seriesWithGaps } from '../store/series/gaps.ts';
import { readShares, type Share, type SourceName } from '../store/series/sources.ts';
import { readLongestRanges, readPause } from '../store/settings/settings.ts';

export interface TickParts {
  readonly database: Database;
  readonly requests: RequestQueue;
  /** Plans the series of this source; null or absent: of the default one. */
  readonly source?: SourceName | undefined;
  /** The source's limit of a long period, such as the credits of a month; null or absent: it has none. */
  readonly longLimit?: Limit | null | undefined;
  /** Of an archive; null or absent: it is none. */
  readonly files?: ArchiveFiles | null | undefined;
  /** Of an archive, the longest ranges of the source after it. */
  readonly nextRangeLimits?: RangeLimits | undefined;
  /** The files of other sources that are archives, by name. */
  readonly archives?: ReadonlyMap<string, ArchiveFiles> | undefined;
  /** How long the queue of another source pauses; absent: none does. */
  readonly pausedForMs?: ((source: string) => Promise<number>) | undefined;
  /** Newest periods that the source keeps; null or absent: all. */
  readonly depthPeriods?: number | null | undefined;
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
  const { database, requests, graceMs, source = null } = parts;
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
  const accepted = await readLongestRanges(database, source);
  const longestRangeMs = (key: SeriesKey) => longestRange(key, parts.rangeLimits, accepted);
  const shares = source === null ? new Map<number, Share>() : await readPresentShares(parts, source, nowMs);
  const dueAgain = await rereads(parts, {
    nowMs,
    most: slots.total,
    claimed: claimed.windows,
    longestRangeMs,
  });
  const again = dueAgain.filter(({ seriesId }) => isLive(shares.get(seriesId), parts));
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
        const wanted = bounds === undefined ? entry.gaps : clip(entry.gaps, bounds);
        const gaps = withinDepth(wanted, entry.series, parts.depthPeriods, nowMs);
        return shareOf({ ...entry, gaps }, shares.get(entry.seriesId), { ...parts, longestRangeMs }, nowMs);
      }),
      cut: cutOf(parts),
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
      source,
      nowMs,
      rangesPerSeries,
      first: { count, cursor },
    });
    plan = planFrom(series);
    await deferBeyondDepth(parts, series, nowMs);
    isAll = series.length < count && series.every(({ gaps }) => gaps.length <= maxRead);
    rangesPerSeries *= rangesFactor;
    count *= rangesFactor;
  } while (plan.windows.length < slots.total - reservedSlots && !isAll);
  // Pages also get the slots that backfill does not use.
  const refreshes = plan.windows.filter(({ lane }) => lane === 'refresh').length;
  const pages = due.slice(0, Math.max(0, slots.refresh - refreshes));
  const planned = [
    ...plan.windows,
    ...again.slice(0, Math.max(0, slots.total - plan.windows.length - pages.length)),
  ];
  const windows = withinLongLimit(planned, parts, left);
  await requests.addWindows(windows);
  await requests.addPages(pages);
  const added = windows.length + pages.length;
  return { added, queued: queued + added, cursor: plan.cursor };
}

/** Windows of an archive are those of its files. */
function cutOf({ files }: TickParts): ((range: Range) => Generator<Range>) | undefined {
  return files == null ? undefined : (range) => cutByFile(range, files);
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

/** The shares of a source, without preferred ones that do not answer, or that have banned us for longer. */
async function readPresentShares(
  { database, pausedForMs }: TickParts,
  source: string,
  nowMs: EpochMs,
): Promise<ReadonlyMap<number, Share>> {
  const shares = await readShares(database, source, nowMs);
  const away = new Set<string>();
  for (const name of new Set([...shares.values()].flatMap(({ better }) => better))) {
    const outage = await readOutageOf(database, name, nowMs);
    const isAway = outage !== null && nowMs - outage.sinceMs >= passedOverAfterMs;
    // A usual 429 pauses for a minute at most.
    const isBanning = pausedForMs !== undefined && (await pausedForMs(name)) > passedOverAfterMs;
    if (isAway || isBanning) away.add(name);
  }
  if (away.size === 0) return shares;
  const present = (share: Share) => ({ ...share, better: share.better.filter((name) => !away.has(name)) });
  return new Map([...shares].map(([seriesId, share]) => [seriesId, present(share)]));
}

/** The gaps of a series that this source is to fill. */
function shareOf(
  entry: SeriesGaps,
  share: Share | undefined,
  parts: TickParts & { readonly longestRangeMs: (series: SeriesKey) => number },
  nowMs: EpochMs,
): SeriesGaps {
  const { files, archives, nextRangeLimits } = parts;
  const spanOf = (series: SeriesKey) =>
    nextRangeLimits === undefined ? parts.longestRangeMs(series) : longestRange(series, nextRangeLimits);
  const sought = isSought({
    ...entry,
    beginning: entry.beginning,
    spanMs: spanOf(entry.series),
    probeSpanMs: spanOf(probedSeries(entry.series)),
  });
  if (files != null)
    return archiveShare(entry, {
      files,
      nowMs,
      isSought: share?.hasNext === true && nextRangeLimits !== undefined && sought,
    });
  if (share === undefined || share.better.length === 0) return entry;
  const better = share.better.map((source) => archives?.get(source));
  const known = better.filter((of) => of !== undefined);
  return nextShare(entry, {
    lacks: share.lacks,
    archivedToMs:
      known.length < better.length ? null : Math.max(...known.map((of) => archivedUpTo(nowMs, of))),
    isSought: sought,
  });
}

/** Whether the source gives the newest data of a series: the first that is no archive. */
function isLive(share: Share | undefined, { files, archives }: TickParts): boolean {
  if (files != null) return false;
  return share === undefined || share.better.every((source) => archives?.has(source) === true);
}

/** The part of some gaps that the source still has. */
function withinDepth(
  gaps: readonly Range[],
  series: SeriesKey,
  depthPeriods: number | null | undefined,
  nowMs: EpochMs,
): readonly Range[] {
  if (depthPeriods == null) return gaps;
  return clip(gaps, { startMs: oldestKept(series, depthPeriods, nowMs), endMs: Number.POSITIVE_INFINITY });
}

/** How often a range beyond a source's depth is looked at again: its series may have got another source. */
const beyondDepthRetryMs = dayMs;

/** Defers what the source no longer has: it stays a gap with this reason, and is never asked for. */
async function deferBeyondDepth(
  { database, source, depthPeriods }: TickParts,
  series: readonly SeriesGaps[],
  nowMs: EpochMs,
): Promise<void> {
  if (depthPeriods == null) return;
  for (const { seriesId, series: key, gaps } of series) {
    const oldestMs = oldestKept(key, depthPeriods, nowMs);
    const message = beyondDepthText(source ?? 'the source', key, depthPeriods);
    for (const range of clip(gaps, { startMs: Number.NEGATIVE_INFINITY, endMs: oldestMs }))
      await deferUpstreamGaps(database.pool, {
        seriesId,
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
  const waiting = [...claimed.values()].filter((windows) =>
    windows.some(({ lane }) => lane === 'reread'),
  ).length;
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
