/**
 * What each source of a series will be asked for, by the rules of the planner: for estimates, progress and the state.
 */

import type { EpochMs } from '../model/intervals.ts';
import { clip, normalize, type Range, subtract } from '../model/ranges.ts';
import type { Reason } from '../model/reasons.ts';
import { longestRange } from '../model/request-range.ts';
import { type SeriesKey, seriesName } from '../model/series.ts';
import { defaultSource, offerOf } from '../model/sources.ts';
import { beyondDepthText, closedUpTo } from '../planning/periods.ts';
import { countWindows, type SeriesGaps } from '../planning/plan.ts';
import { depthOf, divideGaps, partsOfSource, type SourceRules } from '../planning/source-share.ts';
import type { SourceSetup } from '../sources/registry.ts';
import type { Gap } from '../store/series/gaps.ts';
import { type GivingSource, readNamedSources } from '../store/series/sources.ts';
import { readLongestRanges } from '../store/settings/settings.ts';
import type { SeriesStatus } from '../store/status/status.ts';
import type { OperationContext } from './context.ts';

/** Sources of series in order of preference, by the names of the series. */
export type SourceLists = ReadonlyMap<
  string,
  ReadonlyArray<Pick<GivingSource, 'source'> & Partial<Pick<GivingSource, 'lacks'>>>
>;

export interface AskedSource extends SourceRules {
  readonly name: string;
  readonly setup: SourceSetup;
}

export interface DividedGaps {
  readonly parts: ReadonlyArray<{
    readonly source: AskedSource;
    readonly gaps: readonly Range[];
    readonly windows: number;
  }>;
  /** The source that gives the newest data; undefined: there is none. */
  readonly live: AskedSource | undefined;
  /** What is older than the sources keep. */
  readonly lost: readonly Range[];
  /** What is newer than the files of the archives, where no other source follows them. */
  readonly unpublished: readonly Range[];
}

export type DivideGaps = (
  series: SeriesKey,
  gaps: readonly Range[],
  /** Whether the newest data is requested: default true. */
  reachesNow?: boolean,
) => DividedGaps;

export type GapsContext = Pick<OperationContext, 'database' | 'sources'> & {
  readonly config: { readonly worker: { readonly graceMs: number } };
};

/** @param pending sources of series that are not tracked yet. */
export async function readGapDivision(
  { config, database, sources }: GapsContext,
  nowMs: EpochMs,
  pending: SourceLists = new Map(),
): Promise<{ readonly ofDefault: AskedSource; readonly divide: DivideGaps }> {
  const { graceMs } = config.worker;
  const lists: SourceLists = new Map([...(await readNamedSources(database, nowMs)), ...pending]);
  const registry = await sources();
  const askedSource = async (setup: SourceSetup): Promise<AskedSource> => {
    const { facts } = setup;
    const accepted = await readLongestRanges(database, facts.name);
    const longestRangeMs = (series: SeriesKey) => longestRange(series, facts.offers, accepted);
    return { ...partsOfSource(facts, registry.facts), name: facts.name, setup, longestRangeMs };
  };
  const ofDefault = await askedSource(registry.get(defaultSource));
  const asked = new Map([[defaultSource, ofDefault]]);
  for (const name of new Set([...lists.values()].flatMap((list) => list.map(({ source }) => source)))) {
    const setup = registry.find(name);
    if (setup !== undefined && !asked.has(name)) asked.set(name, await askedSource(setup));
  }
  const divide: DivideGaps = (series, gaps, reachesNow = true) => {
    const named = lists.get(seriesName(series))?.flatMap(({ source: name, lacks = [] }) => {
      const source = asked.get(name);
      // The scheduler asks no source that is not configured.
      return source === undefined ? [] : [{ source, lacks }];
    });
    const entry: SeriesGaps = {
      ...{ seriesId: 0, series, gaps, reachesNow, refreshDue: false, newestMs: null },
      closedUpToMs: closedUpTo(series, nowMs, graceMs),
      trackedFromMs: Number.NEGATIVE_INFINITY,
    };
    const partOf = (source: AskedSource, open: SeriesGaps) => ({
      ...{ source, gaps: open.gaps },
      windows: countWindows(open, { ...source, nowMs, graceMs }),
    });
    // A series of the default source alone. As below, in less time: the dashboard counts for every series.
    if (named === undefined) return { parts: [partOf(ofDefault, entry)], live: ofDefault, lost: [], unpublished: [] };
    const { parts, ...rest } = divideGaps(named, entry, nowMs);
    const ofFiles = parts.flatMap(({ source, open }) => (source.files == null ? [] : open.gaps));
    /** Requests for what files lack. */
    const more = (source: AskedSource) => {
      const startMs = offerOf(source.offers ?? [], series.dataset)?.addsSinceMs;
      if (startMs === undefined) return 0;
      const again = clip(normalize(ofFiles), { startMs, endMs: Number.POSITIVE_INFINITY });
      return countWindows({ ...entry, gaps: again, reachesNow: false }, { ...source, nowMs, graceMs });
    };
    const all = parts.map(({ source, open }) => partOf(source, open));
    return { ...rest, parts: all.map((part) => ({ ...part, windows: part.windows + more(part.source) })) };
  };
  return { ofDefault, divide };
}

/** Whether a gap can be requested now. */
export function isWorkable(gap: Gap, nowMs: EpochMs): boolean {
  // A pass of the scheduler records what is too old.
  if (gap.reason === 'not_asked') return gap.cause !== 'not_published';
  return gap.retryAtMs !== null && gap.retryAtMs <= nowMs;
}

/** Divides what can be requested now of each series among its sources. */
export function divideWorkable(
  gaps: readonly Gap[],
  nowMs: EpochMs,
  divide: DivideGaps,
): ReadonlyMap<number, DividedGaps> {
  const workable = new Map<number, Gap[]>();
  for (const gap of gaps) {
    if (!isWorkable(gap, nowMs)) continue;
    const of = workable.get(gap.seriesId);
    if (of === undefined) workable.set(gap.seriesId, [gap]);
    else of.push(gap);
  }
  return new Map([...workable].map(([seriesId, of]) => [seriesId, divide((of[0] as Gap).series, normalize(of))]));
}

/** Of the division of a series. */
export function countAll({ parts }: DividedGaps): number {
  return parts.reduce((sum, { windows }) => sum + windows, 0);
}

/** Requests for a part of a series as a whole. */
export function requestsOf(
  { series, askedFromMs, askedToMs }: Pick<SeriesStatus, 'series' | 'askedFromMs' | 'askedToMs'>,
  divide: DivideGaps,
  within: Range = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY },
): number {
  if (askedFromMs === null || askedToMs === null) return 0;
  return countAll(divide(series, clip([{ startMs: askedFromMs, endMs: askedToMs }], within)));
}

/** Windows of each series. */
export function countEach(divided: ReadonlyMap<number, DividedGaps>): ReadonlyMap<number, number> {
  return new Map([...divided].map(([seriesId, of]) => [seriesId, countAll(of)]));
}

/** Windows by the source that is asked for them. */
export function countBySource(divided: Iterable<DividedGaps>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { parts } of divided)
    for (const { source, windows } of parts) counts.set(source.name, (counts.get(source.name) ?? 0) + windows);
  return counts;
}

const notPublished = 'its archive has no file of that time yet, and no other source is named';

/** Adds its reason to each gap that no source of its series is asked for, and divides gaps where such a part begins. */
export function explainUnasked(gaps: readonly Gap[], divide: DivideGaps): Gap[] {
  const bySeries = new Map<number, Gap[]>();
  for (const gap of gaps) {
    const of = bySeries.get(gap.seriesId) ?? [];
    bySeries.set(gap.seriesId, of);
    of.push(gap);
  }
  return [...bySeries.values()].flatMap((of) => {
    const open = of.filter(({ reason }) => reason === 'not_asked');
    const [first] = open;
    if (first === undefined) return of;
    const { live, lost, unpublished } = divide(first.series, normalize(open));
    if (lost.length + unpublished.length === 0) return of;
    const depth = depthOf(live ?? {}, first.series);
    const tooOld = depth === null ? null : beyondDepthText(live?.name ?? '', first.series, depth);
    return of.flatMap((gap) => {
      if (gap.reason !== 'not_asked') return [gap];
      const pieces = (ranges: readonly Range[], cause: Reason, message: string | null) =>
        clip(ranges, gap).map((piece) => ({ ...gap, ...piece, cause, message }));
      const asked = subtract([gap], normalize([...lost, ...unpublished]));
      return [
        ...pieces(asked, gap.cause, gap.message),
        ...pieces(lost, 'beyond_depth', tooOld),
        ...pieces(unpublished, 'not_published', notPublished),
      ].sort((one, other) => one.startMs - other.startMs);
    });
  });
}
