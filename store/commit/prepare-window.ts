/**
 * The input and result of a commit, and the preparation of a window: from an answer's rows to what waits for
 * the commit.
 */

import { type EpochMs, type Interval, intervalMs, periodStart } from '../../model/intervals.ts';
import { type PointLines, pickPoints, pointAt } from '../../model/point-lines.ts';
import { clip, normalize, type Range } from '../../model/ranges.ts';
import { hasWitnesses, type Window } from '../../model/window.ts';
import type { PointsAnswer } from '../../planning/answer.ts';
import { closedUpTo, periodOf } from '../../planning/periods.ts';
import { type LinkedPoint, linkedPoint, type Proof, proofOf } from '../../planning/proof.ts';
import { longSilences } from '../../planning/silences.ts';
import { upstreamPart } from '../../planning/upstream-coverage.ts';
import type { Verdict } from '../../planning/verdict.ts';
import type { NewEntry } from '../ledger/ledger.ts';
import { readRejectedTime } from '../ledger/quarantine.ts';
import type { PointChanges } from './write-points.ts';

export interface CommitRules {
  readonly graceMs: number;
  /** Time between two empty answers that confirm an empty window. */
  readonly emptyConfirmMs: number;
  /** Whether the source may lack a row although there was a trade; absent: it may not. */
  readonly isAbsenceUnknown?: boolean | undefined;
  /** Longest pause of a deferred window. Absent: no limit. */
  readonly failedRetryMs?: number;
}

export interface WindowCommit {
  readonly window: Window;
  readonly attempt: number;
  /** Its rows are of the series' dataset. */
  readonly answer: PointsAnswer;
  /** When the answer came. */
  readonly nowMs: EpochMs;
  readonly rules: CommitRules;
}

export interface WindowResult extends PointChanges {
  readonly verdict: Verdict | 'confirmed_empty';
  readonly covered: Range | null;
  /** Points outside the window, or given twice, which were dropped. */
  readonly dropped: number;
  readonly rejected: number;
  /** Why the first of them was; null: none was. */
  readonly rejectedFor: string | null;
  /** Ranges of the window that no row of the answer could be used for; they are asked again. */
  readonly unusable: readonly Range[];
}

/** An answer and its window, ready to be stored. */
export interface PreparedWindow extends Omit<WindowCommit, 'answer'> {
  /**
   * The part of the requested window that the answer counts for. It asks for no witnesses where the source lacks
   * something.
   */
  readonly window: Window;
  readonly answer: Omit<PointsAnswer, 'rows'>;
  /** Points within the window, ascending. The last of a duplicate wins. */
  readonly points: PointLines;
  /** Points of the periods before and after the window, requested as witnesses. */
  readonly beside: readonly WitnessPoints[];
  /** What the answer does not prove, although it has rows on either side. */
  readonly lacking: Lacking;
  readonly seen: SeenRows;
  readonly stated: Stated;
}

/** What the answer itself says of its points and of what it lacks. */
interface Stated extends Pick<Lacking, 'missing' | 'holes'> {
  /** Of a dataset whose points have links: all, ascending; of another none. */
  readonly points: readonly LinkedPoint[];
}

interface Lacking {
  /** Ranges of the requested window that the source says it lacks. */
  readonly missing: readonly Range[];
  /** Periods of the requested window whose rows differ. */
  readonly disputed: readonly Range[];
  /** Stretches between two rows that are to be requested once more, alone, before they are covered. */
  readonly silences: readonly Range[];
  /** Those of all three within the window, which the answer does not count for. */
  readonly holes: readonly Range[];
  /** The source says nothing about its coverage from here on. */
  readonly knownUntilMs: EpochMs;
}

interface SeenRows {
  /** Number of rows, readable or not. */
  readonly rows: number;
  /** Readable rows that were dropped: outside the window, given twice, or stale. */
  readonly dropped: number;
  /**
   * Readable rows more than a period outside the window. An answer with nothing else does not belong to the request.
   */
  readonly outOfRange: number;
  /** First and last row within the request, unreadable ones included; null: there is none. */
  readonly span: { readonly firstMs: EpochMs; readonly lastMs: EpochMs } | null;
  /** No point is due before, as the last one of the window says; null: each period may have one. */
  readonly dueMs: EpochMs | null;
  /** How long before those two the points before them were; null: they do not tell. */
  readonly links: { readonly firstMs: number | null; readonly lastMs: number | null };
  /** Unreadable rows, except those with a time beside the window. */
  readonly rejectedWithin: number;
  /** Starts of the window's periods with unreadable rows only. */
  readonly rejectedPeriodsMs: readonly EpochMs[];
}

/** What the ledger has of any request for a window that was answered. */
export function requestEntry(
  { window, answer, attempt, nowMs }: Pick<PreparedWindow, 'window' | 'answer' | 'attempt' | 'nowMs'>,
  verdict: string,
): NewEntry {
  const { seriesId, series, lane, source } = window;
  const { status, bytes, durationMs } = answer;
  const { dataset } = series;
  return { timeMs: nowMs, dataset, seriesId, range: window, lane, attempt, verdict, status, bytes, durationMs, source };
}

export interface WitnessPoints {
  readonly range: Range;
  readonly points: PointLines;
}

export function prepareWindow(commit: WindowCommit): PreparedWindow {
  const { attempt, nowMs, rules } = commit;
  const { rows, endsMs = Number.POSITIVE_INFINITY, ...answer } = commit.answer;
  const requested = { ...commit.window, endMs: Math.min(commit.window.endMs, endsMs) };
  const { series } = requested;
  const {
    window: part,
    untilMs,
    ...lacks
  } = upstreamPart(requested, series.interval, answer.known ?? null, answer.isWhole);
  // Where the source lacks something itself, an absent point proves nothing. A file is whole nonetheless.
  const isWhole = answer.isWhole === true || (answer.known?.missing ?? []).length === 0;
  const asks = isWhole && hasWitnesses(requested) ? requested.asks : part;
  const window = { ...requested, startMs: part.startMs, endMs: part.endMs, asks };
  const { timesMs } = rows;
  const isStale = staleTimes(commit, untilMs);
  const pointsIn = (range: Range) => {
    const places = placesIn(timesMs, range, isStale);
    return places === null ? rows : pickPoints(rows, places);
  };
  const points = pointsIn(window);
  const beside = [
    { startMs: asks.startMs, endMs: window.startMs },
    { startMs: window.endMs, endMs: asks.endMs },
  ]
    .filter(({ startMs, endMs }) => startMs < endMs)
    .map((range) => ({ range, points: pointsIn(range) }))
    .filter((side) => side.points.timesMs.length > 0);
  const kept = beside.reduce((sum, side) => sum + side.points.timesMs.length, points.timesMs.length);
  const rejectedMs = answer.rejected.map((row) => readRejectedTime(row, series.dataset));
  const disputed = disputedPeriods(commit);
  const stated = proofOf(series).mayPause
    ? []
    : linkedPoints([points, ...beside.map((side) => side.points)], rejectedMs, asks);
  // Only what lies between two rows: a silence at an edge of the answer is a question of caps.
  const silences =
    rules.isAbsenceUnknown === true && answer.isWhole !== true
      ? clip(longSilences(shownPeriods(series.interval, timesMs, rejectedMs), intervalMs[series.interval]), window)
      : [];
  const { missing } = lacks;
  const holes = [...lacks.holes, ...clip(disputed, window), ...silences];
  return linkedBy(stated, {
    ...{ window, attempt, nowMs, rules, answer, points, beside },
    lacking: { missing, holes, disputed, silences, knownUntilMs: untilMs },
    stated: { missing, holes, points: stated },
    seen: {
      rows: rows.length + answer.rejected.length,
      dropped: rows.length - kept,
      outOfRange: countOutOfRange(timesMs, requested),
      span: timeSpan(asks, timesMs, rejectedMs),
      ...{ dueMs: null, links: { firstMs: null, lastMs: null } },
      rejectedWithin: rejectedMs.filter(
        (timeMs) => timeMs === null || !isWithin(timeMs, asks) || isWithin(timeMs, window),
      ).length,
      rejectedPeriodsMs: listRejectedPeriods(rejectedMs, points.timesMs, window, series.interval),
    },
  });
}

/** The window with what these links of its points prove. */
export function linkedBy(points: readonly LinkedPoint[], prepared: PreparedWindow): PreparedWindow {
  const { window, answer, stated, lacking, seen } = prepared;
  const proof = proofOf(window.series);
  const linked = proof.withLinks(points);
  const judged = answer.isWhole === true ? between(window.asks, window.series.interval, linked) : linked;
  const absent = clip(absentBetween(judged, proof), window);
  return {
    ...prepared,
    lacking: { ...lacking, missing: [...stated.missing, ...absent], holes: normalize([...stated.holes, ...absent]) },
    seen: {
      ...seen,
      dueMs: dueAfter(linked, prepared.points, proof),
      links: { firstMs: linked[0]?.linkMs ?? null, lastMs: linked.at(-1)?.linkMs ?? null },
    },
  };
}

/** All points of an answer, ascending. Of an unreadable one no link is known. */
function linkedPoints(
  all: readonly PointLines[],
  rejectedMs: ReadonlyArray<EpochMs | null>,
  asks: Range,
): LinkedPoint[] {
  const unread = rejectedMs.filter((timeMs) => timeMs !== null && isWithin(timeMs, asks));
  const points = all.flatMap((lines) =>
    lines.timesMs.map((_, place) => linkedPoint(pointAt(lines, place), lines.dataset)),
  );
  return [...points, ...unread.map((timeMs) => ({ timeMs: timeMs ?? 0, linkMs: null }))].sort(
    (a, b) => a.timeMs - b.timeMs,
  );
}

/** The points of a whole file, with one on either side, so that its ends are judged too. */
function between({ startMs, endMs }: Range, interval: Interval, points: readonly LinkedPoint[]): LinkedPoint[] {
  const [before, after] = [startMs - intervalMs[interval], endMs];
  return [{ timeMs: before, linkMs: null }, ...points, { timeMs: after, linkMs: null }];
}

function dueAfter(linked: readonly LinkedPoint[], { timesMs }: PointLines, proof: Proof): EpochMs | null {
  const newest = linked.find(({ timeMs }) => timeMs === timesMs.at(-1));
  return newest === undefined ? null : proof.dueAfter(newest);
}

/** What the source lacks between neighbours. */
function absentBetween(points: readonly LinkedPoint[], proof: Proof): Range[] {
  return points.flatMap((after, place) => {
    const before = points[place - 1];
    return (before && proof.missingBetween(before, after)) ?? [];
  });
}

function disputedPeriods({ answer, window }: WindowCommit): Range[] {
  const { series } = window;
  const periods = answer.rejected.flatMap((row) => {
    const timeMs = row.isDisputed === true ? readRejectedTime(row, series.dataset) : null;
    return timeMs === null ? [] : [periodOf(timeMs, series.interval)];
  });
  return clip(normalize(periods), window);
}

/** The periods of the window that hold some of the first times, and none of the others. */
function listRejectedPeriods(
  rejectedMs: ReadonlyArray<EpochMs | null>,
  timesMs: readonly EpochMs[],
  window: Range,
  interval: Interval,
): EpochMs[] {
  const periods = new Set<EpochMs>();
  for (const timeMs of rejectedMs)
    if (timeMs !== null && isWithin(timeMs, window)) periods.add(periodStart(timeMs, interval));
  if (periods.size > 0) for (const timeMs of timesMs) periods.delete(periodStart(timeMs, interval));
  return [...periods];
}

/** Starts of the periods that have a row, readable or not, ascending. */
function shownPeriods(
  interval: Interval,
  timesMs: readonly EpochMs[],
  rejectedMs: ReadonlyArray<EpochMs | null>,
): EpochMs[] {
  const all = [...timesMs, ...rejectedMs.filter((timeMs) => timeMs !== null)];
  return [...new Set(all.map((timeMs) => periodStart(timeMs, interval)))].sort((a, b) => a - b);
}

function isWithin(timeMs: EpochMs, { startMs, endMs }: Range): boolean {
  return timeMs >= startMs && timeMs < endMs;
}

/** An unreadable or stale row counts too: it shows how far the answer reaches. */
function timeSpan(
  requested: Range,
  timesMs: readonly EpochMs[],
  rejectedMs: ReadonlyArray<EpochMs | null>,
): SeenRows['span'] {
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = Number.NEGATIVE_INFINITY;
  const show = (timeMs: EpochMs) => {
    if (!isWithin(timeMs, requested)) return;
    firstMs = Math.min(firstMs, timeMs);
    lastMs = Math.max(lastMs, timeMs);
  };
  for (const timeMs of timesMs) show(timeMs);
  for (const timeMs of rejectedMs) if (timeMs !== null) show(timeMs);
  return firstMs <= lastMs ? { firstMs, lastMs } : null;
}

/**
 * Finds stale rows: their period has closed by our clock, and had not by the source's when it answered. A stale copy
 * holds such a candle as it was while it was open, and its final form may be stored already. The same holds for a
 * period that the source says it does not know yet.
 */
function staleTimes({ window: { series }, answer, nowMs, rules }: WindowCommit, untilMs: EpochMs) {
  const closedMs = closedUpTo(series, nowMs, rules.graceMs);
  const sourceTimeMs = answer.sourceTimeMs ?? nowMs - answer.durationMs;
  const closedThereMs = closedUpTo(series, Math.min(sourceTimeMs, untilMs), 0);
  return (timeMs: EpochMs) => timeMs >= closedThereMs && timeMs < closedMs;
}

function countOutOfRange(timesMs: readonly EpochMs[], { series, startMs, endMs, asks }: Window): number {
  const slackMs = intervalMs[series.interval];
  const near = { startMs: Math.min(startMs - slackMs, asks.startMs), endMs: Math.max(endMs + slackMs, asks.endMs) };
  return timesMs.reduce((count, timeMs) => (isWithin(timeMs, near) ? count : count + 1), 0);
}

/** Places of the rows to keep, ascending in time; of one time the last. Null: all rows, which are so. */
function placesIn(timesMs: readonly EpochMs[], range: Range, isStale: (timeMs: EpochMs) => boolean): number[] | null {
  const isKept = (timeMs: EpochMs) => isWithin(timeMs, range) && !isStale(timeMs);
  const isSorted = timesMs.every(
    (timeMs, place) => isKept(timeMs) && timeMs > (timesMs[place - 1] ?? Number.NEGATIVE_INFINITY),
  );
  if (isSorted) return null;
  const placeAt = new Map<EpochMs, number>();
  for (const [place, timeMs] of timesMs.entries()) if (isKept(timeMs)) placeAt.set(timeMs, place);
  return [...placeAt].sort(([a], [b]) => a - b).map(([, place]) => place);
}
