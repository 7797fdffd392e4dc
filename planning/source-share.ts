/**
 * Which gaps of a series a source is to fill, where several give it.
 *
 * The preferred source comes first; the next one fills what the preferred ones could not give: what they lack, what
 * they refuse, series that they do not know, and everything while they are away. An archive gives files of whole
 * months, or days, some time after their end; the source after it gives what is newer, refreshes, and finds where the
 * series begins (beginning.ts), since an archive cannot be asked for days.
 */

import { type EpochMs, minuteMs, periodStart } from '../model/intervals.ts';
import { archivedUpTo } from '../model/months.ts';
import { clip, normalize, type Range, subtract } from '../model/ranges.ts';
import { longestRange } from '../model/request-range.ts';
import type { SeriesKey } from '../model/series.ts';
import { type ArchiveFiles, type Depth, type OfferFacts, offerOf, type SourceFacts } from '../model/sources.ts';
import { isSought, probedSeries } from './beginning.ts';
import { oldestKept } from './periods.ts';
import type { SeriesGaps } from './plan.ts';

/**
 * A preferred source that has failed for this long, or that pauses for longer, such as during a ban, is passed over
 * until it answers again.
 */
export const passedOverAfterMs = minuteMs;

/** A source as the planner sees it. */
export interface SourceRules {
  /** Of an archive; null or absent: it is none. */
  readonly files?: ArchiveFiles | null | undefined;
  /** Of an archive, the offers of the source after it. */
  readonly nextOffers?: readonly OfferFacts[] | undefined;
  /** The files of other sources that are archives, by name. */
  readonly archives?: ReadonlyMap<string, ArchiveFiles> | undefined;
  readonly offers?: readonly OfferFacts[] | undefined;
  /** Longest range of one request of a series, milliseconds. */
  readonly longestRangeMs: (series: SeriesKey) => number;
}

type PlannedSource = Pick<SourceFacts, 'name' | 'offers' | 'files' | 'archive'>;

/** What a source keeps of a series; null: all. */
export function depthOf({ offers = [] }: Pick<SourceRules, 'offers'>, { dataset }: SeriesKey): Depth | null {
  return offerOf(offers, dataset)?.depth ?? null;
}

/** @param sources all of them, by name. */
export function partsOfSource(
  { name: source, offers, files }: PlannedSource,
  sources: ReadonlyMap<string, PlannedSource>,
) {
  const archives = new Map(
    [...sources].flatMap(([name, other]) => (other.files === null ? [] : [[name, other.files] as const])),
  );
  const next = [...sources.values()].filter(({ archive }) => archive === source);
  // Each of them gives other datasets.
  const nextOffers = next.length === 0 ? undefined : next.flatMap((one) => one.offers);
  return { offers, files, nextOffers, archives };
}

/** A source's place among those of a series. */
export interface SourcePlace {
  /** The sources that are preferred to it, except those that do not know the series. */
  readonly better: readonly string[];
  readonly hasNext: boolean;
  /** What the preferred sources could not give. */
  readonly lacks: readonly Range[];
}

export interface SourceGaps {
  /** The gaps that the source is to fill. */
  readonly open: SeriesGaps;
  /** Those of its gaps that are older than it keeps. */
  readonly lost: readonly Range[];
}

/** @param place absent: no other source gives the series. */
export function gapsFor(
  entry: SeriesGaps,
  source: SourceRules,
  place: SourcePlace | undefined,
  nowMs: EpochMs,
): SourceGaps {
  const depth = depthOf(source, entry.series);
  if (depth === null) return { open: shareOf(entry, source, place, nowMs), lost: [] };
  const oldestMs = oldestKept(entry.series, depth, nowMs);
  const kept = clip(entry.gaps, { startMs: oldestMs, endMs: Number.POSITIVE_INFINITY });
  const older = clip(entry.gaps, { startMs: Number.NEGATIVE_INFINITY, endMs: oldestMs });
  return {
    open: shareOf({ ...entry, gaps: kept }, source, place, nowMs),
    lost: shareOf({ ...entry, gaps: older }, source, place, nowMs).gaps,
  };
}

function shareOf(
  entry: SeriesGaps,
  source: SourceRules,
  { better, hasNext, lacks }: SourcePlace = { better: [], hasNext: false, lacks: [] },
  nowMs: EpochMs,
): SeriesGaps {
  const { files, archives, nextOffers } = source;
  if (files == null && better.length === 0) return entry;
  const spanOf = (series: SeriesKey) =>
    nextOffers === undefined ? source.longestRangeMs(series) : longestRange(series, nextOffers);
  // A source that keeps its newest data alone cannot be asked where the series begins.
  const canSeek = depthOf({ offers: nextOffers ?? source.offers }, entry.series) === null;
  const isBeginningSought =
    canSeek &&
    isSought({
      ...entry,
      beginning: entry.beginning,
      spanMs: spanOf(entry.series),
      probeSpanMs: spanOf(probedSeries(entry.series)),
    });
  const known = better.flatMap((name) => archives?.get(name) ?? []);
  const archivedToMs = known.length < better.length ? null : Math.max(...known.map((of) => archivedUpTo(nowMs, of)));
  if (files == null) return nextShare(entry, { lacks, archivedToMs, isSought: isBeginningSought });
  const left = better.length === 0 ? entry : nextShare(entry, { lacks, archivedToMs, isSought: false });
  return archiveShare(left, { files, nowMs, isSought: hasNext && nextOffers !== undefined && isBeginningSought });
}

/** Whether a source gives the newest data of a series: the first that is no archive. */
export function isLive(
  { files, archives }: Pick<SourceRules, 'files' | 'archives'>,
  place: SourcePlace | undefined,
): boolean {
  if (files != null) return false;
  return place === undefined || place.better.every((source) => archives?.has(source) === true);
}

/**
 * What an archive is to fill. The open candle, refreshes and the search for the beginning are left to the next source.
 */
function archiveShare(
  entry: SeriesGaps,
  { files, nowMs, isSought }: { readonly files: ArchiveFiles; readonly nowMs: EpochMs; readonly isSought: boolean },
): SeriesGaps {
  const { beginning, ...rest } = entry;
  const startMs = isSought ? firstDay(beginning?.knownMs ?? null) : Number.NEGATIVE_INFINITY;
  const gaps = clip(entry.gaps, { startMs, endMs: archivedUpTo(nowMs, files) });
  return { ...rest, gaps, reachesNow: false, refreshDue: false };
}

/**
 * What a source is to fill after others.
 *
 * @param share.archivedToMs up to where the preferred sources, all of them archives, have files; null: one of them is
 * none.
 */
function nextShare(
  entry: SeriesGaps,
  share: { readonly lacks: readonly Range[]; readonly archivedToMs: EpochMs | null; readonly isSought: boolean },
): SeriesGaps {
  const { gaps, beginning } = entry;
  const isLive = share.archivedToMs !== null;
  const isSought = isLive && share.isSought;
  const knownMs = beginning?.knownMs ?? null;
  if (isSought && knownMs === null) return entry;
  const newestMs = share.archivedToMs ?? Number.POSITIVE_INFINITY;
  const before = clip(gaps, {
    startMs: Number.NEGATIVE_INFINITY,
    endMs: isSought ? firstDay(knownMs) : Number.NEGATIVE_INFINITY,
  });
  const lacked = subtract(gaps, subtract(gaps, share.lacks));
  const newer = clip(gaps, { startMs: newestMs, endMs: Number.POSITIVE_INFINITY });
  return {
    ...entry,
    gaps: normalize([...before, ...lacked, ...newer]),
    reachesNow: entry.reachesNow && isLive,
    refreshDue: entry.refreshDue && isLive,
  };
}

export interface DividedGaps<Source> {
  /** What each source will be asked for, if all of them have what they are expected to have. */
  readonly parts: ReadonlyArray<{ readonly source: Source; readonly open: SeriesGaps }>;
  /** The source that gives the newest data: the first that is no archive; undefined: there is none. */
  readonly live: Source | undefined;
  /** What is older than the sources keep. */
  readonly lost: readonly Range[];
  /** What is newer than the files of the archives, where no other source follows them. */
  readonly unpublished: readonly Range[];
}

/**
 * Divides the gaps of a series among its sources, in their order of preference.
 *
 * @param sources with what each could not give and is not asked for again yet.
 */
export function divideGaps<Source extends SourceRules & { readonly name: string }>(
  sources: ReadonlyArray<{ readonly source: Source; readonly lacks: readonly Range[] }>,
  entry: SeriesGaps,
  nowMs: EpochMs,
): DividedGaps<Source> {
  let rest = entry.gaps;
  const lacks: Range[] = [];
  const parts = sources.map(({ source, lacks: own }, index) => {
    const better = sources.slice(0, index).map((one) => one.source.name);
    const place = { better, hasNext: index + 1 < sources.length, lacks };
    const { open, lost } = gapsFor({ ...entry, gaps: subtract(rest, own) }, source, place, nowMs);
    rest = subtract(rest, open.gaps);
    lacks.push(...own, ...lost);
    return { source, open };
  });
  const live = sources.find(({ source }) => source.files == null)?.source;
  const isLost = live !== undefined && depthOf(live, entry.series) !== null;
  const publishedMs = sources.map(({ source: { files } }) =>
    files == null ? Number.POSITIVE_INFINITY : archivedUpTo(nowMs, files),
  );
  const startMs = publishedMs.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...publishedMs);
  const unpublished = clip(rest, { startMs, endMs: Number.POSITIVE_INFINITY });
  return { parts, live, lost: isLost ? rest : [], unpublished };
}

function firstDay(knownMs: EpochMs | null): EpochMs {
  return knownMs === null ? Number.POSITIVE_INFINITY : periodStart(knownMs, 'd1');
}
