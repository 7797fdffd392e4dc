/**
 * Which gaps of a series a source is to fill, where several give it.
 *
 * The preferred source comes first; the next one fills what the preferred ones could not give: what they lack, what they
 * refuse, series that they do not know, and everything while they are away. An archive gives whole calendar
 * months some time after their end; the source after it gives what is newer, refreshes, and finds where the series begins
 * (beginning.ts), since an archive cannot be asked for days.
 */

import { type EpochMs, minuteMs, periodStart } from '../contract/intervals.ts';
import type { PlannedSeries } from './estimate.ts';
import { oldestKept } from './periods.ts';
import type { SeriesGaps } from './plan.ts';
import { clip, normalize, type Range, subtract } from './ranges.ts';

/**
 * A preferred source that has failed for this long, or that pauses for longer, such as during a ban, is passed over until it
 * answers again.
 */
export const passedOverAfterMs = minuteMs;

/** A source's place among those of a series. */
export interface SourceShare {
  /** What the preferred sources could not give. */
  readonly lacks: readonly Range[];
  /** Lags of the preferred sources that are archives, milliseconds; null: one of them is none. */
  readonly archiveLagMs: number | null;
  /** Whether the beginning of the series is searched for. */
  readonly isSought: boolean;
}

/** The whole months that an archive has at `nowMs`: those that end before this time. */
export function archivedUpTo(nowMs: EpochMs, lagMs: number): EpochMs {
  const at = new Date(nowMs - lagMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1);
}

/** What an archive is to fill. The open candle, refreshes and the search for the beginning are left to the next source. */
export function archiveShare(
  entry: SeriesGaps,
  { lagMs, nowMs, isSought }: { readonly lagMs: number; readonly nowMs: EpochMs; readonly isSought: boolean },
): SeriesGaps {
  const { beginning, ...rest } = entry;
  const startMs = isSought ? firstDay(beginning?.knownMs ?? null) : Number.NEGATIVE_INFINITY;
  const gaps = clip(entry.gaps, { startMs, endMs: archivedUpTo(nowMs, lagMs) });
  return { ...rest, gaps, reachesNow: false, refreshDue: false };
}

/** What a source is to fill after others. */
export function nextShare(entry: SeriesGaps, share: SourceShare, nowMs: EpochMs): SeriesGaps {
  const { gaps, beginning } = entry;
  const isLive = share.archiveLagMs !== null;
  const isSought = isLive && share.isSought;
  const knownMs = beginning?.knownMs ?? null;
  if (isSought && knownMs === null) return entry;
  const newestMs =
    share.archiveLagMs === null ? Number.POSITIVE_INFINITY : archivedUpTo(nowMs, share.archiveLagMs);
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

/** What an estimate needs to know of a source. */
export interface PartSource {
  /** Of an archive, how long after its end a month is there; null: it is none. */
  readonly archiveLagMs: number | null;
  /** Newest periods that it keeps; null: all. */
  readonly depthPeriods: number | null;
}

export interface SourceParts<Source> {
  /** What each source will be asked for, if all of them have what they are expected to have. */
  readonly parts: ReadonlyArray<{ readonly source: Source; readonly missing: readonly Range[] }>;
  /** The source that gives the newest data: the first that is no archive; undefined: there is none. */
  readonly live: Source | undefined;
  /** What is older than the sources keep. */
  readonly lost: readonly Range[];
}

/** Divides the missing ranges of a series among its sources, in their order of preference. */
export function divideMissing<Source extends PartSource>(
  sources: readonly Source[],
  { series, missing }: Pick<PlannedSeries, 'series' | 'missing'>,
  nowMs: EpochMs,
): SourceParts<Source> {
  let rest = missing;
  const parts = sources.map((source) => {
    const { archiveLagMs, depthPeriods } = source;
    const endMs = archiveLagMs === null ? Number.POSITIVE_INFINITY : archivedUpTo(nowMs, archiveLagMs);
    const startMs =
      depthPeriods === null ? Number.NEGATIVE_INFINITY : oldestKept(series, depthPeriods, nowMs);
    const given = clip(rest, { startMs, endMs });
    rest = subtract(rest, given);
    return {
      source,
      missing: archiveLagMs === null ? given : given.flatMap((range) => [...cutByMonth(range)]),
    };
  });
  const live = sources.find(({ archiveLagMs }) => archiveLagMs === null);
  const isLost = live !== undefined && live.depthPeriods !== null;
  return { parts, live, lost: isLost ? rest : [] };
}

function firstDay(knownMs: EpochMs | null): EpochMs {
  return knownMs === null ? Number.POSITIVE_INFINITY : periodStart(knownMs, 'd1');
}

/** Cuts a range at the beginnings of calendar months, UTC. */
export function* cutByMonth({ startMs, endMs }: Range): Generator<Range> {
  let fromMs = startMs;
  while (fromMs < endMs) {
    const at = new Date(fromMs);
    const toMs = Math.min(endMs, Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1));
    yield { startMs: fromMs, endMs: toMs };
    fromMs = toMs;
  }
}
