/**
 * The part of a window that an answer is about, if the source states what it lacks.
 *
 * An answer counts for the last run between missing ranges, which is the newest data, from which refreshes reach back;
 * the file of an archive for all runs. Missing ranges are deferred. Earlier runs stay gaps without missing ranges, and
 * cost one request each: a source without gaps costs none.
 */

import { type EpochMs, type Interval, intervalMs, minuteMs, nextPeriodStart, periodStart } from '../model/intervals.ts';
import { clip, type Range, subtract } from '../model/ranges.ts';

/** As the source states it: it knows nothing of `missing`, nor of anything from `untilMs` on. */
export interface UpstreamCoverage {
  readonly untilMs: EpochMs;
  readonly missing: readonly Range[];
}

export interface UpstreamPart<Window extends Range> {
  /** The part that the answer counts for. */
  readonly window: Window;
  /** The answer proves nothing from here on. */
  readonly untilMs: EpochMs;
  /** Ranges of the window that the source lacks, before, after and within that part. */
  readonly missing: readonly Range[];
  /** Those within it. */
  readonly holes: readonly Range[];
}

/** The missing ranges as whole periods of the interval. A period that is known in part counts as missing. */
export function missingPeriods(known: UpstreamCoverage, interval: Interval, range: Range): Range[] {
  const whole = known.missing.map(({ startMs, endMs }) => ({
    startMs: periodStart(startMs, interval),
    endMs: nextPeriodStart(endMs, interval),
  }));
  return clip(whole, { startMs: range.startMs, endMs: Math.min(range.endMs, known.untilMs) });
}

/**
 * @param known null: the source states nothing.
 * @param isWhole whether the answer is a file whose checksum is right: it counts for all its runs, since each of them
 *   would cost the file again.
 */
export function upstreamPart<Window extends Range>(
  window: Window,
  interval: Interval,
  known: UpstreamCoverage | null,
  isWhole = false,
): UpstreamPart<Window> {
  if (known === null) return { window, untilMs: Number.POSITIVE_INFINITY, missing: [], holes: [] };
  const missing = missingPeriods(known, interval, window);
  if (missing.length === 0) return { window, untilMs: known.untilMs, missing, holes: [] };
  const saidMs = Math.min(window.endMs, known.untilMs);
  const runs = subtract([{ startMs: window.startMs, endMs: saidMs }], missing);
  const last = runs.at(-1);
  // If none is left, the open periods remain, of which the newest may have come.
  const startMs = (isWhole ? runs[0] : last)?.startMs ?? saidMs;
  const untilMs = last === undefined || last.endMs < saidMs ? (last?.endMs ?? saidMs) : known.untilMs;
  const holes = isWhole ? clip(missing, { startMs, endMs: last?.endMs ?? startMs }) : [];
  return { window: { ...window, startMs }, untilMs, missing, holes };
}

/** Shortest delay of a range that the source lacks. */
const shortestPauseMs = minuteMs;

/**
 * Delay of a range that the source lacks: as long as it has been due there, up to `longestMs`. A source that lags by
 * its own refreshes is asked again a minute later. The delay grows each time (store/commit/deferred-windows.ts).
 */
export function missingPauseMs(range: Range, interval: Interval, nowMs: EpochMs, longestMs: number): number {
  const dueMs = nowMs - (range.startMs + intervalMs[interval]);
  return Math.max(Math.min(shortestPauseMs, longestMs), Math.min(dueMs, longestMs));
}
