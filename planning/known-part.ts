/**
 * What of a window its answer is about, where the source says what it does not have itself.
 *
 * Of the runs between what is missing there an answer is taken for the last one, which is the newest data, and which an
 * answer of the newest data reaches back from. What is missing is put aside. Any run before is then a gap with nothing
 * missing in it, and costs a request of its own: a source without gaps costs none.
 */

import {
  type EpochMs,
  type Interval,
  intervalMs,
  minuteMs,
  nextPeriodStart,
  periodStart,
} from '../contract/intervals.ts';
import { clip, type Range, subtract } from './ranges.ts';

/** As a source states it: nothing is known of `missing`, nor of anything from `untilMs` on. */
export interface Known {
  readonly untilMs: EpochMs;
  readonly missing: readonly Range[];
}

export interface KnownPart<Window extends Range> {
  /** What the answer counts for. */
  readonly window: Window;
  /** From here on the answer proves nothing. */
  readonly untilMs: EpochMs;
  /** What of the whole window the source does not have, before and after that part. */
  readonly missing: readonly Range[];
}

/** The missing as whole periods of the interval, within the range: of a period that is known in part nothing is. */
export function missingPeriods(known: Known, interval: Interval, range: Range): Range[] {
  const whole = known.missing.map(({ startMs, endMs }) => ({
    startMs: periodStart(startMs, interval),
    endMs: nextPeriodStart(endMs, interval),
  }));
  return clip(whole, { startMs: range.startMs, endMs: Math.min(range.endMs, known.untilMs) });
}

/** @param known null: the source does not say. */
export function knownPart<Window extends Range>(
  window: Window,
  interval: Interval,
  known: Known | null,
): KnownPart<Window> {
  if (known === null) return { window, untilMs: Number.POSITIVE_INFINITY, missing: [] };
  const missing = missingPeriods(known, interval, window);
  if (missing.length === 0) return { window, untilMs: known.untilMs, missing };
  const saidMs = Math.min(window.endMs, known.untilMs);
  const run = subtract([{ startMs: window.startMs, endMs: saidMs }], missing).at(-1);
  // Where there is none, the periods that have not ended are left, of which the newest may have come.
  const startMs = run?.startMs ?? saidMs;
  const untilMs = run === undefined || run.endMs < saidMs ? (run?.endMs ?? saidMs) : known.untilMs;
  return { window: { ...window, startMs }, untilMs, missing };
}

/** Least time until what is missing at the source is asked for again. */
const shortestPauseMs = minuteMs;

/**
 * How long to leave alone what the source does not have: as long as it has been due there, so that a source which lags
 * by its own refreshes is asked a minute later, up to `longestMs`. What stays missing waits longer each time
 * (store/missing-there.ts).
 */
export function missingPauseMs(range: Range, interval: Interval, nowMs: EpochMs, longestMs: number): number {
  const dueMs = nowMs - (range.startMs + intervalMs[interval]);
  return Math.max(Math.min(shortestPauseMs, longestMs), Math.min(dueMs, longestMs));
}
