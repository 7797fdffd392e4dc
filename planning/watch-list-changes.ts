/**
 * What a watch list changes of what is tracked. Nothing here takes anything away that is stored: a range that is
 * narrowed or a series that is stopped is no longer asked for, and its points and coverage stay.
 *
 * A start that is given as an age counts back from when it was first applied, and stands from then on: counted anew
 * each time, every list would be a little narrower than what is tracked. Until the file says another age it is
 * remembered.
 */

import { type EpochMs, nextPeriodStart, periodStart } from '../model/intervals.ts';
import { keyOf, type SeriesKey, untilExpiry } from '../model/series.ts';
import { notNamedMark, timeOfAge } from '../model/time-text.ts';

export type Start = { readonly kind: 'time'; readonly atMs: EpochMs } | { readonly kind: 'age'; readonly age: string };

/** A null end is open: the series is followed into the future. */
export interface Span {
  readonly startMs: EpochMs;
  readonly endMs: EpochMs | null;
}

/** By age, when it began. */
type Ages = Readonly<Record<string, EpochMs>>;

export interface WantedSeries {
  readonly series: SeriesKey;
  /** Of every entry that names it; the earliest counts. */
  readonly starts: readonly Start[];
  readonly endMs: EpochMs | null;
  /** Its sources, in order of preference; absent: they stay as they are. */
  readonly sources?: readonly WantedSource[];
}

export interface WantedSource {
  readonly source: string;
  /** The market, or the asset, as the source names it. */
  readonly symbol: string;
  readonly isArchive: boolean;
}

export interface KnownSeries {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly tracked: Span;
  /** False: it was, and is not now. */
  readonly isTracked: boolean;
  /** Null: no file has named it. Marked: one did, and did not when it was last applied. */
  readonly ages: Ages | null;
}

/** `moved`: wider at one end and narrower at the other. */
export const changeKinds = ['added', 'widened', 'narrowed', 'moved', 'stopped'] as const;

export interface SeriesChange {
  /** `kept`: only what is remembered of its ages changes, or whether the file names it. */
  readonly kind: (typeof changeKinds)[number] | 'kept';
  readonly series: SeriesKey;
  /** Null: it is not known yet. */
  readonly seriesId: number | null;
  /** What is tracked; null: nothing. */
  readonly before: Span | null;
  readonly after: Span | null;
  readonly ages: Ages | null;
}

export interface SeriesChanges {
  readonly changes: readonly SeriesChange[];
  /** Tracked, not in the file, and left alone. */
  readonly left: readonly KnownSeries[];
  /** Wanted only before the first moment that their dataset's retention keeps. */
  readonly notKept: readonly SeriesKey[];
  /** Of the changes, those that begin where retention keeps from, and not where they are wanted from. */
  readonly cut: readonly SeriesKey[];
}

export function seriesChanges(input: {
  readonly wanted: readonly WantedSeries[];
  readonly known: readonly KnownSeries[];
  readonly prune: boolean;
  readonly nowMs: EpochMs;
  /** Nothing of the series' dataset from before is kept; null: all is. */
  readonly keptSinceMs: (series: SeriesKey) => EpochMs | null;
}): SeriesChanges {
  const known = new Map(input.known.map((one) => [nameOfChange(one.series), one]));
  const wanted = new Set(input.wanted.map(({ series }) => nameOfChange(series)));
  const changes: SeriesChange[] = [];
  const notKept: SeriesKey[] = [];
  const cut: SeriesKey[] = [];
  for (const one of input.wanted) {
    const before = known.get(nameOfChange(one.series)) ?? null;
    const asked = askedFor(one, before, input.nowMs);
    const after = withinKept(asked.span, before, one.series, input.keptSinceMs(one.series));
    if (after === null) {
      notKept.push(one.series);
      continue;
    }
    const change = changeOf(one.series, before, after, asked.ages);
    changes.push(...change);
    const isNews = change.some(({ kind }) => kind !== 'kept');
    if (isNews && after.startMs > asked.span.startMs) cut.push(one.series);
  }
  const unwanted = input.known.filter((one) => one.isTracked && !wanted.has(nameOfChange(one.series)));
  if (!input.prune) return { changes, left: unwanted, notKept, cut };
  const stopped = unwanted.map(
    ({ series, seriesId, tracked }): SeriesChange => ({
      kind: 'stopped',
      series,
      seriesId,
      before: tracked,
      after: null,
      ages: null,
    }),
  );
  return { changes: [...changes, ...stopped], left: [], notKept, cut };
}

/** What is remembered of tracked series that a file does not name. */
export function notNamed(left: readonly KnownSeries[]): SeriesChange[] {
  return left.flatMap(({ series, seriesId, tracked, ages }) => {
    if (ages === null || notNamedMark in ages) return [];
    const marked = { ...ages, [notNamedMark]: 0 };
    return [{ kind: 'kept' as const, series, seriesId, before: tracked, after: tracked, ages: marked }];
  });
}

/** Whole periods, as they are tracked. */
function askedFor(
  { series, starts, endMs }: WantedSeries,
  known: KnownSeries | null,
  nowMs: EpochMs,
): { span: Span; ages: Ages } {
  const remembered = known?.isTracked === true ? known.ages : null;
  const ages: Record<string, EpochMs> = {};
  let firstMs = Number.POSITIVE_INFINITY;
  for (const start of starts) {
    const atMs = start.kind === 'time' ? start.atMs : (remembered?.[start.age] ?? timeOfAge(start.age, nowMs));
    if (start.kind === 'age') ages[start.age] = atMs;
    firstMs = Math.min(firstMs, atMs);
  }
  const lastMs = untilExpiry(series, endMs);
  const span = {
    startMs: periodStart(firstMs, series.interval),
    endMs: lastMs === null ? null : nextPeriodStart(lastMs, series.interval),
  };
  return { span, ages };
}

/**
 * What begins before the first period that is kept begins there; and one that is tracked from between the two already
 * has been cut by the retention, or will be, and is as wanted. Nothing is kept of a future that expired before.
 */
function withinKept(span: Span, known: KnownSeries | null, series: SeriesKey, cutMs: EpochMs | null): Span | null {
  if (span.endMs !== null && span.endMs <= span.startMs) return null;
  if (cutMs === null) return span;
  const keptMs = nextPeriodStart(cutMs, series.interval);
  if (span.startMs >= keptMs) return span;
  if (span.endMs !== null && span.endMs <= keptMs) return null;
  const trackedMs = known?.isTracked === true ? known.tracked.startMs : keptMs;
  return { ...span, startMs: Math.min(keptMs, Math.max(span.startMs, trackedMs)) };
}

function changeOf(series: SeriesKey, known: KnownSeries | null, after: Span, ages: Ages): SeriesChange[] {
  const seriesId = known?.seriesId ?? null;
  if (known === null || !known.isTracked) return [{ kind: 'added', series, seriesId, before: null, after, ages }];
  const before = known.tracked;
  const change = { series, seriesId, before, after, ages };
  const isWider = after.startMs < before.startMs || endOf(after) > endOf(before);
  const isNarrower = after.startMs > before.startMs || endOf(after) < endOf(before);
  if (isWider) return [{ ...change, kind: isNarrower ? 'moved' : 'widened' }];
  if (isNarrower) return [{ ...change, kind: 'narrowed' }];
  return isSame(known.ages, ages) ? [] : [{ ...change, kind: 'kept' }];
}

function endOf({ endMs }: Span): number {
  return endMs ?? Number.POSITIVE_INFINITY;
}

function isSame(a: Ages | null, b: Ages | null): boolean {
  if (a === null || b === null) return a === b;
  const entries = Object.entries(a);
  return entries.length === Object.keys(b).length && entries.every(([age, atMs]) => b[age] === atMs);
}

/** Tells every two series apart: the name of a candle series and of a history may be the same words. */
export function nameOfChange(series: SeriesKey): string {
  return JSON.stringify([series.dataset, ...keyOf(series)]);
}
