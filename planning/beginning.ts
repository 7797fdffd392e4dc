/**
 * Finds where a series begins without a request for every window of the years before it.
 *
 *   unknown   No point is stored before a long gap. Only its oldest window is requested. If it has points: *begun*.
 *   probing   That window brought no point. A probe requests the whole gap by days, in as few requests as their longest
 *             range allows. Points: the series *begins* on the day of the first one. None: the range awaits a second
 *             answer like any empty one.
 *   begins    The rest of the gap is requested as usual, and also the day before it: a window in which the source could
 *             contradict the probe. The range before that day awaits a second probe, `emptyConfirmMs` later.
 *   before    The second probe, of the range before alone, agreed: the range is confirmed as empty, and marked as known
 *             by days only. A later point in it overturns that.
 *   begun     Nothing is held back.
 *
 * After a failed or contradicted probe the series is backfilled normally until `probe_after`. All state is read from
 * the database at each pass; a crash loses at most one answer.
 */

import { datasetOf } from '../model/datasets/index.ts';
import { dayMs, type EpochMs, periodStart } from '../model/intervals.ts';
import type { WindowLane } from '../model/lanes.ts';
import { clip, cut, lengthMs, overlaps, type Range, subtract } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';

/** Stored knowledge about the beginning of a series. */
export interface Beginning {
  /** Earliest time with a point, stored or shown by a probe; null: unknown. */
  readonly knownMs: EpochMs | null;
  /** Whether a range before it was requested without a point. */
  readonly isAsked: boolean;
  readonly mayProbe: boolean;
}

export interface HeldBack {
  /** Gaps to request window by window. */
  readonly open: readonly Range[];
  /** Requested before the rest of a held-back range. */
  readonly ahead: (Range & { readonly lane: 'backfill' | 'probe' }) | null;
}

/**
 * Windows before the earliest point that are requested without a probe: 20 requests with their second answers. For
 * fewer, a probe does not pay.
 */
const maxPlainWindows = 10;

/** Whether the beginning is searched for: a gap with no stored point before it is long, and probes may find it. */
export function isSought({
  gaps,
  beginning,
  spanMs,
  probeSpanMs,
}: Pick<Parameters<typeof holdBack>[0], 'gaps' | 'beginning' | 'spanMs' | 'probeSpanMs'>): boolean {
  const worthMs = maxPlainWindows * Math.max(spanMs, dayMs);
  if (beginning === undefined || !beginning.mayProbe || probeSpanMs <= worthMs) return false;
  return lengthMs(beforeMoment(gaps, beginning.knownMs)) > worthMs;
}

/**
 * @param gaps all gaps that may be requested now. @param free gaps without a queued job.
 * @param spanMs longest range of a request of the series; `probeSpanMs` the same for days.
 */
export function holdBack(input: {
  readonly gaps: readonly Range[];
  readonly free: readonly Range[];
  readonly beginning: Beginning | undefined;
  readonly claimed: ReadonlyArray<Range & { readonly lane?: WindowLane }>;
  readonly spanMs: number;
  readonly probeSpanMs: number;
}): HeldBack {
  const { gaps, free, beginning, spanMs, probeSpanMs } = input;
  if (beginning === undefined || !isSought(input)) return { open: free, ahead: null };
  const { knownMs } = beginning;
  const before = beforeMoment(gaps, knownMs);
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
  // Up to the end of the day with a known point: an answer that lacks this day is not trusted.
  const endMs = last.endMs === knownMs ? periodStart(knownMs, 'd1') + dayMs : last.endMs;
  const { startMs } = oldest;
  // The request starts at the start of the day.
  return { open, ahead: { startMs, endMs: Math.min(endMs, startMs + probeSpanMs - dayMs), lane: 'probe' } };
}

/**
 * Probes that request the time before a series begins again, the last one together with the day that has a point. Each
 * reaches one day into the next, since a probe proves nothing about its last day.
 */
export function* probesAgain(before: Range, knownMs: EpochMs | null, probeSpanMs: number): Generator<Range> {
  const knownDayMs = knownMs === null ? null : periodStart(knownMs, 'd1');
  const endMs = before.endMs + dayMs === knownDayMs ? knownDayMs + dayMs : before.endMs + dayMs;
  // The request starts at the start of the day.
  const spanMs = Math.max(probeSpanMs - dayMs, 2 * dayMs);
  for (let startMs = before.startMs; startMs < before.endMs; startMs += spanMs - dayMs) {
    yield { startMs, endMs: Math.min(startMs + spanMs, endMs) };
    if (startMs + spanMs >= endMs) return;
  }
}

function beforeMoment(ranges: readonly Range[], knownMs: EpochMs | null): Range[] {
  return clip(ranges, { startMs: Number.NEGATIVE_INFINITY, endMs: knownMs ?? Number.POSITIVE_INFINITY });
}

/**
 * The series that a probe requests: the same market or asset, by days. The interface does not say when a week begins.
 */
export function probedSeries(series: SeriesKey): SeriesKey {
  return Object.freeze({ ...series, interval: 'd1' }) as SeriesKey;
}

/**
 * Whether days without a point say something: a dataset without days, or with a point in each, has no such beginning.
 */
export function mayBeProbed({ dataset }: SeriesKey): boolean {
  const { intervals, time } = datasetOf(dataset);
  return time.density === 'some' && intervals.includes('d1');
}

/** Result of a probe: where the series begins and which range before is empty, or why the answer is not trusted. */
export type Shown =
  | { readonly beginsMs: EpochMs | null; readonly empty: Range | null; readonly doubt: null }
  | { readonly doubt: string };

/**
 * @param timesMs times of the days in the answer, in any order. @param rejected invalid rows.
 * @param knownMs earliest time with a point.
 * @param closedDaysMs end of the last day that had closed when the source answered, by both clocks.
 */
export function evaluateProbe(input: {
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
