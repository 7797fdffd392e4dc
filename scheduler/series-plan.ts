/** Which windows the series of a source need: what the scheduler adds to the queue, and what `why` says that it will. */

import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { ArchiveFiles } from '../contract/sources.ts';
import { isSought, probedSeries } from '../planning/beginning.ts';
import { oldestKept } from '../planning/periods.ts';
import { type Plan, type PlanInput, planWindows, type SeriesGaps } from '../planning/plan.ts';
import { clip, type Range } from '../planning/ranges.ts';
import {
  archivedUpTo,
  archiveShare,
  cutByFile,
  nextShare,
  passedOverAfterMs,
} from '../planning/source-share.ts';
import { longestRange, type RangeLimits } from '../planning/windows.ts';
import type { Database } from '../store/db/database.ts';
import { readOutageOf } from '../store/ledger/source-outage.ts';
import { readShares, type Share, type SourceName } from '../store/series/sources.ts';
import { readLongestRanges } from '../store/settings/settings.ts';
import type { SourceFacts } from '../watch-list/source-facts.ts';

/** A source, and the series to plan. */
export interface SeriesParts {
  readonly database: Database;
  /** Plans the series of this source; null or absent: of the default one. */
  readonly source?: SourceName | undefined;
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
}

/** What the planner needs to know of a source beside the default one. */
export interface SourceOfSeries extends SourceFacts {
  /** Newest periods that it keeps; null: all. */
  readonly depthPeriods: number | null;
  /** Of an archive; null: it is none. */
  readonly files: ArchiveFiles | null;
}

/** @param sources all of them, by name. */
export function partsOfSource(
  source: string,
  { rangeLimits, depthPeriods, files }: SourceOfSeries,
  sources: ReadonlyMap<string, SourceOfSeries>,
) {
  const archives = new Map(
    [...sources].flatMap(([name, other]) => (other.files === null ? [] : [[name, other.files] as const])),
  );
  const nextRangeLimits = [...sources.values()].find(({ archive }) => archive === source)?.rangeLimits;
  return { source, rangeLimits, depthPeriods, files, nextRangeLimits, archives };
}

type Pass = Pick<PlanInput, 'claimed' | 'slots' | 'reservedSlots' | 'cursor'>;

/** Reads what holds for all series of the source at this time. */
export async function seriesPlanner(parts: SeriesParts, nowMs: EpochMs) {
  const { database, source = null, files, within } = parts;
  const accepted = await readLongestRanges(database, source);
  const longestRangeMs = (key: SeriesKey) => longestRange(key, parts.rangeLimits, accepted);
  const shares = source === null ? new Map<number, Share>() : await readPresentShares(parts, source, nowMs);
  return {
    longestRangeMs,
    /** Whether the source gives the newest data of a series: the first that is no archive. */
    isLive: (seriesId: number) => isLive(shares.get(seriesId), parts),
    /** The windows of series with gaps, within the slots. */
    windowsOf(series: readonly SeriesGaps[], pass: Pass): Plan {
      return planWindows({
        ...pass,
        series: series.map((entry) => {
          const bounds = within?.get(entry.seriesId);
          const wanted = bounds === undefined ? entry.gaps : clip(entry.gaps, bounds);
          const gaps = withinDepth(wanted, entry.series, parts.depthPeriods, nowMs);
          return shareOf({ ...entry, gaps }, shares.get(entry.seriesId), { ...parts, longestRangeMs }, nowMs);
        }),
        // Windows of an archive are those of its files.
        cut: files == null ? undefined : (range) => cutByFile(range, files),
        nowMs,
        graceMs: parts.graceMs,
        longestRangeMs,
        rereadPeriods: parts.rereadPeriods,
      });
    },
  };
}

/** The shares of a source, without preferred ones that do not answer, or that have banned us for longer. */
async function readPresentShares(
  { database, pausedForMs }: SeriesParts,
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
  parts: SeriesParts & { readonly longestRangeMs: (series: SeriesKey) => number },
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

function isLive(share: Share | undefined, { files, archives }: SeriesParts): boolean {
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
