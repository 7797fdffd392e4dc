/**
 * From gaps to windows, in the order they are to be asked for.
 *
 * The newest data of every series comes first, as one request each however long the tail is. What lies before is
 * cut into windows from the oldest end (old data is what a source may stop serving) and taken in turn from every
 * series, so that none starves. Of a long gap with nothing stored before it only the oldest window is asked for until
 * it is known where the series begins (beginning.ts). A plan is never held: each pass takes as many windows as the
 * queue has room for.
 */

import { type EpochMs, intervalMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { type Beginning, type HeldBack, holdBack, probedSeries } from './beginning.ts';
import type { FreeSlots } from './budget.ts';
import { newestEnd } from './closed.ts';
import { cut, overlaps, type Range, subtract } from './ranges.ts';
import type { Lane, Window } from './windows.ts';

/** A series and what of its tracked range, up to the last closed period, is not covered. */
export interface SeriesGaps {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Sorted and disjoint; may be only the oldest few and the newest of many. */
  readonly gaps: readonly Range[];
  /** End of the last closed period. */
  readonly closedUpToMs: EpochMs;
  /** Start of the tracked range. */
  readonly trackedFromMs: EpochMs;
  /** Time of the newest stored point. */
  readonly newestMs: EpochMs | null;
  /** Whether the tracked range reaches to the present, so that the newest data is wanted. */
  readonly reachesNow: boolean;
  /** Whether the open candle is due to be read again although no closed period is missing. */
  readonly refreshDue: boolean;
  /** Absent: nothing is held back for finding out where it begins. */
  readonly beginning?: Beginning;
}

export interface PlanInput {
  readonly series: readonly SeriesGaps[];
  /** Windows already in the queue, by series. Read them before the gaps, or a finished one looks forgotten. */
  readonly claimed: ReadonlyMap<number, ReadonlyArray<Range & { readonly lane?: Lane }>>;
  readonly nowMs: EpochMs;
  readonly graceMs: number;
  /** Longest range of one request of a series, milliseconds. */
  readonly longestRangeMs: (series: SeriesKey) => number;
  readonly slots: FreeSlots;
  /** Closed periods before the newest that each refresh reads again; two unless given. */
  readonly rereadPeriods?: number | undefined;
  /** Places that backfill leaves free, for what reads the trailing range again; none unless given. */
  readonly spared?: number | undefined;
  /** Series id that the pass before ended with: taking turns goes on behind it. */
  readonly cursor: number;
}

export interface Plan {
  readonly windows: Window[];
  readonly cursor: number;
}

/** Plans one pass: at most `slots.total` windows, refreshes first. */
export function planWindows(input: PlanInput): Plan {
  const inTurn = [...input.series].sort((a, b) => turn(a, input.cursor) - turn(b, input.cursor));
  const refreshes: Window[] = [];
  const pending: Array<{ series: SeriesGaps; windows: Iterator<Planned> }> = [];

  for (const series of inTurn) {
    const spanMs = input.longestRangeMs(series.series);
    // Who reads again what is covered fills no gap, and keeps no refresh waiting.
    const filling = (input.claimed.get(series.seriesId) ?? []).filter(({ lane }) => !isReadAgain(lane));
    // A probe asks for days, and leaves the windows of its range to be asked for.
    const claimed = filling.filter(({ lane }) => lane !== 'probe');
    const tail = tailOf(series, spanMs, input);
    const free = subtract(series.gaps, tail === null ? claimed : [...claimed, tail]);
    // A tail that is partly on its way waits: what is left of it then is asked for when that has arrived.
    if (tail !== null && !claimed.some((window) => overlaps(window, tail))) {
      refreshes.push(windowOf(series, tail, 'refresh'));
    }
    const held = holdBack({
      ...{ gaps: series.gaps, free, beginning: series.beginning, claimed: filling, spanMs },
      probeSpanMs: input.longestRangeMs(probedSeries(series.series)),
    });
    if (held.ahead !== null || held.open.length > 0) pending.push({ series, windows: planned(held, spanMs) });
  }

  // Who is furthest behind comes first, so that a budget too small for all is shared by all.
  refreshes.sort((a, b) => a.startMs - b.startMs);
  const refreshLimit = pending.length > 0 ? input.slots.refresh : input.slots.total;
  const windows = refreshes.slice(0, refreshLimit);
  const backfills = takeInTurn(pending, input.slots.total - windows.length - (input.spared ?? 0));
  windows.push(...backfills);
  return { windows, cursor: (backfills.at(-1) ?? windows.at(-1))?.seriesId ?? input.cursor };
}

function isReadAgain(lane: Lane | undefined): boolean {
  return lane === 'reread' || lane === 'repair' || lane === 'verify';
}

/** Position of a series in the round that starts behind the cursor; series ids are 32-bit. */
function turn(series: SeriesGaps, cursor: number): number {
  return series.seriesId > cursor ? series.seriesId - cursor : series.seriesId - cursor + 2 ** 32;
}

/** How many closed periods before the newest a refresh reads again: the first minutes see most of the late changes. */
export const defaultRereadPeriods = 2;

/**
 * The newest range of a series that one request may span, if any of it is wanted now. It reaches back to the newest
 * stored point and over the last closed periods: a quiet minute of a thin market then comes as a hole among points
 * instead of an empty answer, and a late change of the last candles is seen.
 */
function tailOf(series: SeriesGaps, spanMs: number, input: PlanInput): Range | null {
  if (!series.reachesNow) return null;
  const endMs = newestEnd(series.series, input.nowMs, input.graceMs);
  const newestGap = series.gaps.at(-1);
  const closedTail = newestGap?.endMs === series.closedUpToMs ? newestGap.startMs : null;
  const wantedFromMs = closedTail ?? (series.refreshDue ? series.closedUpToMs : null);
  if (wantedFromMs === null || wantedFromMs >= endMs) return null;
  const reachMs = (input.rereadPeriods ?? defaultRereadPeriods) * intervalMs[series.series.interval];
  const backToMs =
    series.newestMs === null ? wantedFromMs : Math.min(series.newestMs, wantedFromMs - reachMs);
  const startMs = Math.max(backToMs, series.trackedFromMs, endMs - spanMs);
  return startMs < endMs ? { startMs, endMs } : null;
}

type Planned = Range & { readonly lane: Lane };

function* planned({ ahead, open }: HeldBack, spanMs: number): Generator<Planned> {
  if (ahead !== null) yield ahead;
  for (const range of open) for (const piece of cut(range, spanMs)) yield { ...piece, lane: 'backfill' };
}

function takeInTurn(
  pending: Array<{ series: SeriesGaps; windows: Iterator<Planned> }>,
  count: number,
): Window[] {
  const taken: Window[] = [];
  let round = pending;
  while (round.length > 0 && taken.length < count) {
    const next: typeof pending = [];
    for (const entry of round) {
      if (taken.length >= count) break;
      const window = entry.windows.next();
      if (window.done) continue;
      taken.push(windowOf(entry.series, window.value, window.value.lane));
      next.push(entry);
    }
    round = next;
  }
  return taken;
}

function windowOf(series: SeriesGaps, { startMs, endMs }: Range, lane: Lane): Window {
  return Object.freeze({ seriesId: series.seriesId, series: series.series, startMs, endMs, lane });
}
