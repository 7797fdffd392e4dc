/**
 * Where a series begins, found without a request for every window of the years before it.
 *
 *   unknown   Nothing stored lies before a long gap. Its oldest window alone is asked for. Points in it: *begun*.
 *   asked     Nothing came of that window. A probe asks for the whole gap by days, in as few requests as their longest
 *             range allows. Points: the day of the first one is where the series *begins*. None: it awaits its second
 *             answer like any empty one.
 *   begins    What lies after is asked for as ever, and so is one day before: a window in which the source itself
 *             could contradict the probe. What lies before that day awaits a second probe, `emptyConfirmMs` later.
 *   before    A second probe, of what lies before alone, agreed: it is confirmed to be empty, and marked as known by
 *             days only. A point that turns up in there later overturns it all.
 *   begun     Nothing is held back.
 *
 * A probe that fails, or whose answer contradicts what is stored, helps nothing for a while, in which nothing is held
 * back either. All of this is read from the database at each pass; a crash loses no more than an answer.
 */

import { dayMs, type EpochMs, periodStart } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { clip, cut, lengthMs, overlaps, type Range, subtract } from './ranges.ts';
import type { Lane } from './windows.ts';

/** What is known of the beginning of a series. */
export interface Beginning {
  /** The earliest moment from which there is a point, stored or shown by a probe; null: none is known. */
  readonly knownMs: EpochMs | null;
  /** Whether something before that was asked for, and brought no point. */
  readonly isAsked: boolean;
  readonly mayProbe: boolean;
}

export interface HeldBack {
  /** The gaps that may be asked for window by window. */
  readonly open: readonly Range[];
  /** What is asked for first, before the rest of what is held back. */
  readonly ahead: (Range & { readonly lane: 'backfill' | 'probe' }) | null;
}

/**
 * Windows before the earliest point that are asked for as they are: with their second answers 20 requests. For fewer,
 * finding out where the series begins is not worth it.
 */
const mostPlainWindows = 10;

/**
 * @param gaps all that is missing and may be asked for now. @param free what of it no job asks for.
 * @param spanMs longest range of a request of the series; `probeSpanMs` the same of its days.
 */
export function holdBack(input: {
  readonly gaps: readonly Range[];
  readonly free: readonly Range[];
  readonly beginning: Beginning | undefined;
  readonly claimed: ReadonlyArray<Range & { readonly lane?: Lane }>;
  readonly spanMs: number;
  readonly probeSpanMs: number;
}): HeldBack {
  const { gaps, free, beginning, spanMs, probeSpanMs } = input;
  const worthMs = mostPlainWindows * Math.max(spanMs, dayMs);
  if (beginning === undefined || !beginning.mayProbe || probeSpanMs <= worthMs)
    return { open: free, ahead: null };
  const { knownMs } = beginning;
  const before = beforeMoment(gaps, knownMs);
  if (lengthMs(before) <= worthMs) return { open: free, ahead: null };
  const open = subtract(free, before);
  const isUnderWay = input.claimed.some(
    (claim) => claim.lane !== 'refresh' && before.some((range) => overlaps(claim, range)),
  );
  const held = beforeMoment(free, knownMs);
  const [oldest] = held;
  const last = held.at(-1);
  if (isUnderWay || oldest === undefined || last === undefined) return { open, ahead: null };
  if (!beginning.isAsked) {
    const [first = oldest] = cut(oldest, spanMs);
    return { open, ahead: { ...first, lane: 'backfill' } };
  }
  // Up to the end of the day that is known to have a point: an answer that lacks that day is not to be trusted.
  const endMs = last.endMs === knownMs ? periodStart(knownMs, 'd1') + dayMs : last.endMs;
  const { startMs } = oldest;
  // It is asked for from the start of its day.
  return { open, ahead: { startMs, endMs: Math.min(endMs, startMs + probeSpanMs - dayMs), lane: 'probe' } };
}

/**
 * The probes that ask again for what lies before the beginning of a series: for the last of it together with the day
 * that is known to have a point. Each reaches a day into the next, as of its own last day a probe says nothing.
 */
export function* probesAgain(before: Range, knownMs: EpochMs | null, probeSpanMs: number): Generator<Range> {
  const knownDayMs = knownMs === null ? null : periodStart(knownMs, 'd1');
  const endMs = before.endMs + dayMs === knownDayMs ? knownDayMs + dayMs : before.endMs + dayMs;
  // It is asked for from the start of its day.
  const spanMs = Math.max(probeSpanMs - dayMs, 2 * dayMs);
  for (let startMs = before.startMs; startMs < before.endMs; startMs += spanMs - dayMs) {
    yield { startMs, endMs: Math.min(startMs + spanMs, endMs) };
    if (startMs + spanMs >= endMs) return;
  }
}

function beforeMoment(ranges: readonly Range[], knownMs: EpochMs | null): Range[] {
  return clip(ranges, { startMs: Number.NEGATIVE_INFINITY, endMs: knownMs ?? Number.POSITIVE_INFINITY });
}

/** The series that a probe asks for: the same market or asset by days. The interface leaves open when a week begins. */
export function probedSeries(series: SeriesKey): SeriesKey {
  return Object.freeze({ ...series, interval: 'd1' as const });
}

/** What a probe's answer shows: where the series begins, and what lies before; or why it is not to be trusted. */
export type Shown =
  | { readonly beginsMs: EpochMs | null; readonly empty: Range | null; readonly doubt: null }
  | { readonly doubt: string };

/**
 * @param timesMs times of the days in the answer, in any order. @param rejected rows of it that cannot be read.
 * @param knownMs the earliest moment from which there is a point.
 * @param closedDaysMs end of the last day that had closed when the source answered, by both clocks.
 */
export function judgeProbe(input: {
  readonly window: Range;
  readonly timesMs: readonly EpochMs[];
  readonly rejected: number;
  readonly knownMs: EpochMs | null;
  readonly closedDaysMs: EpochMs;
}): Shown {
  const { window, timesMs, knownMs } = input;
  if (input.rejected > 0) return { doubt: 'a day of the answer cannot be read' };
  const fromMs = periodStart(window.startMs, 'd1');
  const days = timesMs.map((timeMs) => periodStart(timeMs, 'd1'));
  const within = days.filter((dayStartMs) => dayStartMs >= fromMs && dayStartMs < window.endMs);
  const firstMs = within.length === 0 ? null : within.reduce((a, b) => Math.min(a, b));
  if (firstMs === null && days.length > 0) return { doubt: 'no day of the answer belongs to what was asked' };
  const closedMs = Math.min(window.endMs, input.closedDaysMs);
  if (knownMs !== null) {
    const knownDayMs = periodStart(knownMs, 'd1');
    const isAsked = knownDayMs >= fromMs && knownDayMs + dayMs <= closedMs;
    if (isAsked && (firstMs === null || firstMs > knownDayMs))
      return { doubt: 'the answer lacks a day of which points are stored' };
  }
  const emptyEndMs = Math.min(closedMs, firstMs ?? closedMs) - dayMs;
  const empty = window.startMs < emptyEndMs ? { startMs: window.startMs, endMs: emptyEndMs } : null;
  if (firstMs === null && empty === null) return { doubt: 'the answer is older than what was asked' };
  return { beginsMs: firstMs, empty, doubt: null };
}
