/**
 * What an answer proves about its window.
 *
 * filled      points came: covered up to the last closed period.
 * cut_short   a dense run of points from the window's start that stops before its end looks capped: covered is
 *             what it holds, the rest stays a gap. Points with holes are a thin market and cover the window, and
 *             so does a run shorter than another answer of late, which no cap can have cut: the market paused.
 * empty       an answer without points. Not covered: a source having a bad day answers so too.
 * stale       the window has closed periods, but by the source's own clock none had closed when it answered: a copy
 *             of an older answer, or a clock that is behind. Its points are kept, nothing is covered.
 */

import { type EpochMs, type Interval, intervalMs, isOnGrid, periodStart } from '../contract/intervals.ts';
import type { Range } from './ranges.ts';

export type Verdict = 'filled' | 'cut_short' | 'empty' | 'stale';

export interface Judgement {
  readonly verdict: Verdict;
  /** What of the window is now known, or, of an empty answer, would be if a second one agrees. */
  readonly covered: Range | null;
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
    return { verdict: wasClosed ? 'stale' : last === undefined ? 'empty' : 'filled', covered: null };
  }
  if (last === undefined) return { verdict: input.rejected === 0 ? 'empty' : 'filled', covered: closed };

  const length = intervalMs[interval];
  const reachedMs = last + length;
  // One period of slack: the newest point of a range may arrive late without the answer being capped.
  const mayBeCapped = timesMs.length + input.rejected >= input.mostRows;
  if (mayBeCapped && isDense(window, interval, timesMs) && endMs - reachedMs > length) {
    return { verdict: 'cut_short', covered: { startMs: window.startMs, endMs: reachedMs } };
  }
  return { verdict: 'filled', covered: closed };
}

/** Whether the points start with the window's first period and none is missing up to the last of them. */
function isDense(window: Range, interval: Interval, timesMs: readonly EpochMs[]): boolean {
  const first = timesMs[0];
  const last = timesMs.at(-1);
  if (first === undefined || last === undefined) return false;
  const length = intervalMs[interval];
  const opening = isOnGrid(window.startMs, interval)
    ? window.startMs
    : periodStart(window.startMs, interval) + length;
  return first === opening && timesMs.length === (last - first) / length + 1;
}
