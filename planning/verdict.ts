/**
 * What an answer proves about its window.
 *
 * filled      points came: covered up to the last closed period.
 * cut_short   points that stop well before the window's end, as those of a capped answer do: covered is what it
 *             holds, the rest stays a gap. Not so when the silence at the end is no longer than a hole among the
 *             points, which is a thin market, or when another answer of late had more rows, which no cap lets
 *             through: then the market paused, and the window is covered.
 * empty       an answer without points. Not covered: a source having a bad day answers so too.
 * stale       the window has closed periods, but by the source's own clock none had closed when it answered: a copy
 *             of an older answer, or a clock that is behind. Its points are kept, nothing is covered.
 */

import { type EpochMs, type Interval, intervalMs } from '../contract/intervals.ts';
import type { Range } from './ranges.ts';

export type Verdict = 'filled' | 'cut_short' | 'empty' | 'stale';

export interface Judgement {
  readonly verdict: Verdict;
  /** What of the window is now known, or, of an empty answer, would be if a second one agrees. */
  readonly covered: Range | null;
  /** What a cut short answer leaves of the closed part of its window. */
  readonly rest: Range | null;
}

/**
 * @param timesMs start of each period in the answer: ascending, without duplicates, on the grid, in the window.
 * @param rejected rows of the answer that could not be read: they are holes, not emptiness.
 * @param mostRows rows of the largest answer of the series of late.
 * @param closedUpToMs end of the last closed period, by our clock.
 * @param answeredUpToMs the same by the clock of the source, as its answer's timestamp shows it.
 */
export function judge(input: {
  readonly window: Range;
  readonly interval: Interval;
  readonly timesMs: readonly EpochMs[];
  readonly rejected: number;
  readonly mostRows: number;
  readonly closedUpToMs: EpochMs;
  readonly answeredUpToMs: EpochMs;
}): Judgement {
  const { window, interval, timesMs } = input;
  const endMs = Math.min(window.endMs, input.closedUpToMs, input.answeredUpToMs);
  const closed = endMs > window.startMs ? { startMs: window.startMs, endMs } : null;
  const last = timesMs.at(-1);
  if (closed === null) {
    const wasClosed = Math.min(window.endMs, input.closedUpToMs) > window.startMs;
    return {
      verdict: wasClosed ? 'stale' : last === undefined ? 'empty' : 'filled',
      covered: null,
      rest: null,
    };
  }
  if (last === undefined)
    return { verdict: input.rejected === 0 ? 'empty' : 'filled', covered: closed, rest: null };

  const length = intervalMs[interval];
  const reachedMs = last + length;
  const mayBeCapped = timesMs.length + input.rejected >= input.mostRows;
  // One period of slack: the newest point of a range may arrive late without the answer being capped.
  const longestHoleMs = Math.max(length, longestHole(timesMs, length));
  if (mayBeCapped && endMs - reachedMs > longestHoleMs) {
    const covered = { startMs: window.startMs, endMs: reachedMs };
    return { verdict: 'cut_short', covered, rest: { startMs: reachedMs, endMs } };
  }
  return { verdict: 'filled', covered: closed, rest: null };
}

/** Length of the longest run of missing periods between two points, milliseconds. */
function longestHole(timesMs: readonly EpochMs[], lengthMs: number): number {
  let longestMs = 0;
  let previousMs: EpochMs | undefined;
  for (const timeMs of timesMs) {
    if (previousMs !== undefined) longestMs = Math.max(longestMs, timeMs - previousMs - lengthMs);
    previousMs = timeMs;
  }
  return longestMs;
}
