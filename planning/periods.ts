/** Closed and open periods of a series. */

import { datasetOf } from '../model/datasets/index.ts';
import { counted, formatDuration, formatTime } from '../model/format.ts';
import { type EpochMs, type Interval, intervalMs, minuteMs, nextPeriodStart, periodStart } from '../model/intervals.ts';
import type { Range } from '../model/ranges.ts';
import { type SeriesKey, untilExpiry } from '../model/series.ts';
import type { Depth } from '../model/sources.ts';

/**
 * End of the last closed period, the limit of coverage. `graceMs` is how long after its end a period may still change:
 * points may appear late, and clocks differ. An event happens at the start of its period, which has closed when it can
 * no longer be late; `tidemark.closed_series` says the same.
 */
export function closedUpTo({ dataset, interval }: SeriesKey, nowMs: EpochMs, graceMs: number): EpochMs {
  const { time } = datasetOf(dataset);
  const leadMs = time.density === 'linked' ? intervalMs[interval] - time.latestMs : 0;
  return periodStart(nowMs - graceMs + leadMs, interval);
}

/**
 * End of a request for the newest data, including the open candle. The running day of `d1` history has no point (it is
 * a mean over the whole day), so its newest period is the last closed day.
 */
export function newestEnd(series: SeriesKey, nowMs: EpochMs, graceMs: number): EpochMs {
  if (!hasOpenPoint(series)) return closedUpTo(series, nowMs, graceMs);
  return periodStart(nowMs, series.interval) + intervalMs[series.interval];
}

/** Whether the source has a point for the open period. */
export function hasOpenPoint(series: SeriesKey): boolean {
  const { time } = datasetOf(series.dataset);
  return time.density === 'some' && time.hasOpen(series.interval);
}

/** The period that contains a time. */
export function periodOf(timeMs: EpochMs, interval: Interval): Range {
  const startMs = periodStart(timeMs, interval);
  return { startMs, endMs: startMs + intervalMs[interval] };
}

/** The whole periods that a range touches. */
export function periodsIn({ startMs, endMs }: Range, interval: Interval): Range {
  return { startMs: periodStart(startMs, interval), endMs: nextPeriodStart(endMs, interval) };
}

/** The whole closed periods of a series that a range touches: at least one. @param range.endMs null: open-ended. */
export function askedRange(
  series: SeriesKey,
  range: { readonly startMs: EpochMs; readonly endMs: EpochMs | null },
  { nowMs, graceMs }: { readonly nowMs: EpochMs; readonly graceMs: number },
): Range {
  const { interval } = series;
  const closedMs = closedUpTo(series, nowMs, graceMs);
  const lastMs = untilExpiry(series, range.endMs);
  const { startMs, endMs } = periodsIn({ startMs: range.startMs, endMs: lastMs ?? closedMs }, interval);
  return { startMs, endMs: Math.max(Math.min(endMs, closedMs), startMs + intervalMs[interval]) };
}

/** The times whose period a range touches. @param within absent: all. */
export function timesWithin(timesMs: readonly EpochMs[], { interval }: SeriesKey, within?: Range): readonly EpochMs[] {
  if (within === undefined) return timesMs;
  const { startMs, endMs } = periodsIn(within, interval);
  return timesMs.filter((timeMs) => timeMs >= startMs && timeMs < endMs);
}

/** A gap whose first period closed within this time is no backlog: its request is on its way. */
const arrivalMs = 5 * minuteMs;

/** Whether a gap is a backlog: its first period closed long enough ago to be requested and answered. */
export function isBacklog(
  startMs: EpochMs,
  periodMs: number,
  { nowMs, graceMs }: { readonly nowMs: EpochMs; readonly graceMs: number },
): boolean {
  return startMs + periodMs + graceMs + arrivalMs <= nowMs;
}

/** How current a series is. */
export interface Recency {
  readonly periodMs: number;
  readonly newestMs: EpochMs | null;
  /** Length of the gap that reaches the present; 0: none, or only periods that closed just now or came back empty. */
  readonly behindMs: number;
  /** Answers up to the present had no point since then; null: the newest period has one, or nothing is awaited. */
  readonly silentSinceMs: EpochMs | null;
  /** Time of the last answer about the newest periods; null: none, or the tracked range has ended. */
  readonly readMs: EpochMs | null;
}

/** @param series.unaskedMs length of the gap up to `closedUpToMs`, without what came back empty. */
export function recencyOf(
  series: {
    readonly periodMs: number;
    readonly toMs: EpochMs | null;
    readonly closedUpToMs: EpochMs;
    readonly unaskedMs: number;
    readonly newestMs: EpochMs | null;
    readonly refreshedMs: EpochMs | null;
  },
  at: { readonly nowMs: EpochMs; readonly graceMs: number },
): Recency {
  const { periodMs, toMs, closedUpToMs, unaskedMs, newestMs, refreshedMs } = series;
  if (toMs !== null && toMs <= at.nowMs) return { periodMs, newestMs, behindMs: 0, silentSinceMs: null, readMs: null };
  const answeredUpToMs = closedUpToMs - unaskedMs;
  const behindMs = unaskedMs > 0 && isBacklog(answeredUpToMs, periodMs, at) ? unaskedMs : 0;
  const isSilent = behindMs === 0 && newestMs !== null && newestMs + periodMs < answeredUpToMs;
  return { periodMs, newestMs, behindMs, silentSinceMs: isSilent ? newestMs + periodMs : null, readMs: refreshedMs };
}

/**
 * `read 10 s ago`, `behind by 3 periods` or `silent since 2024-01-31 17:37Z, asked 3 s ago`; nothing where the tracked
 * range has ended.
 */
export function recencyText(series: Recency, nowMs: EpochMs): string {
  const { periodMs, newestMs, behindMs, silentSinceMs, readMs } = series;
  if (behindMs > 0) return `behind by ${counted(Math.round(behindMs / periodMs), 'period')}`;
  const agoMs = readMs === null ? null : Math.max(0, nowMs - readMs);
  const ago = agoMs === null ? null : `${agoMs < 1000 ? '0 s' : formatDuration(agoMs, 1)} ago`;
  const asked = ago === null ? '' : `, asked ${ago}`;
  if (silentSinceMs !== null) return `silent since ${formatTime(silentSinceMs)}${asked}`;
  if (ago === null) return '';
  return newestMs === null ? `no point${asked}` : `read ${ago}`;
}

/** Periods that may close between planning and the answer. */
const depthMargin = 2;

/** Start of the oldest period that a source still has when the request arrives. */
export function oldestKept({ interval }: SeriesKey, depth: Depth, nowMs: EpochMs): EpochMs {
  const periodMs = intervalMs[interval];
  const keptMs = 'ms' in depth ? depth.ms : depth.periods * periodMs;
  return periodStart(nowMs - keptMs, interval) + (1 + depthMargin) * periodMs;
}

/** Why a range is a gap that its source has no longer: `kraken keeps the newest 720 periods (12 h of m1); ...`. */
export function beyondDepthText(source: string, { interval }: SeriesKey, depth: Depth): string {
  const kept =
    'ms' in depth
      ? formatDuration(depth.ms)
      : `${depth.periods} periods (${formatDuration(depth.periods * intervalMs[interval])} of ${interval})`;
  return `${source} keeps the newest ${kept}; older ones cannot be requested there`;
}
