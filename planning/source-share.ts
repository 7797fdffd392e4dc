/**
 * Which gaps of a series a source is to fill, where several give it.
 *
 * The preferred source comes first; the next one fills what the preferred ones could not give: what they lack, what they
 * refuse, series that they do not know, and everything while they are away. An archive gives files of
 * whole months, or days, some time after their end; the source after it gives what is newer, refreshes, and finds where the series begins
 * (beginning.ts), since an archive cannot be asked for days.
 */

import { dayMs, type EpochMs, minuteMs, periodStart, weekMs } from '../contract/intervals.ts';
import type { ArchiveFiles } from '../contract/sources.ts';
import type { PlannedSeries } from './estimate.ts';
import { monthAt } from './months.ts';
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
  /** Up to where the preferred sources, all of them archives, have files; null: one of them is none. */
  readonly archivedToMs: EpochMs | null;
  /** Whether the beginning of the series is searched for. */
  readonly isSought: boolean;
}

/** Until when an archive has files at `nowMs`: the start of the month or day whose file is not there yet. */
export function archivedUpTo(nowMs: EpochMs, { unit, lagMs }: ArchiveFiles): EpochMs {
  const atMs = nowMs - lagMs;
  const { startMs } = fileAt(atMs, unit);
  // The file of a month comes with the first Monday of the next one.
  const isLate = unit === 'month' && atMs < periodStart(startMs + weekMs - 1, 'w1');
  return isLate ? fileAt(startMs - 1, unit).startMs : startMs;
}

function fileAt(timeMs: EpochMs, unit: ArchiveFiles['unit']): Range {
  if (unit === 'month') return monthAt(timeMs);
  const startMs = periodStart(timeMs, 'd1');
  return { startMs, endMs: startMs + dayMs };
}

/** What an archive is to fill. The open candle, refreshes and the search for the beginning are left to the next source. */
export function archiveShare(
  entry: SeriesGaps,
  {
    files,
    nowMs,
    isSought,
  }: { readonly files: ArchiveFiles; readonly nowMs: EpochMs; readonly isSought: boolean },
): SeriesGaps {
  const { beginning, ...rest } = entry;
  const startMs = isSought ? firstDay(beginning?.knownMs ?? null) : Number.NEGATIVE_INFINITY;
  const gaps = clip(entry.gaps, { startMs, endMs: archivedUpTo(nowMs, files) });
  return { ...rest, gaps, reachesNow: false, refreshDue: false };
}

/** What a source is to fill after others. */
export function nextShare(entry: SeriesGaps, share: SourceShare): SeriesGaps {
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

/** What an estimate needs to know of a source. */
export interface PartSource {
  /** Of an archive; null: it is none. */
  readonly files: ArchiveFiles | null;
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
    const { files, depthPeriods } = source;
    const endMs = files === null ? Number.POSITIVE_INFINITY : archivedUpTo(nowMs, files);
    const startMs =
      depthPeriods === null ? Number.NEGATIVE_INFINITY : oldestKept(series, depthPeriods, nowMs);
    const given = clip(rest, { startMs, endMs });
    rest = subtract(rest, given);
    return {
      source,
      missing: files === null ? given : given.flatMap((range) => [...cutByFile(range, files)]),
    };
  });
  const live = sources.find(({ files }) => files === null);
  const isLost = live !== undefined && live.depthPeriods !== null;
  return { parts, live, lost: isLost ? rest : [] };
}

function firstDay(knownMs: EpochMs | null): EpochMs {
  return knownMs === null ? Number.POSITIVE_INFINITY : periodStart(knownMs, 'd1');
}

/** Cuts a range where the files of an archive begin. */
export function* cutByFile({ startMs, endMs }: Range, { unit }: ArchiveFiles): Generator<Range> {
  let fromMs = startMs;
  while (fromMs < endMs) {
    const toMs = Math.min(endMs, fileAt(fromMs, unit).endMs);
    yield { startMs: fromMs, endMs: toMs };
    fromMs = toMs;
  }
}
