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
 *             of an older answer, or a clock that is behind. Nothing is covered.
 * unreadable  rows came, and none of them can be read or belongs to the window: covers nothing.
 */

import { type EpochMs, hourMs, type Interval, intervalMs } from '../contract/intervals.ts';
import type { Range } from './ranges.ts';

export type Verdict = 'filled' | 'cut_short' | 'empty' | 'stale' | 'unreadable';

/** A silence at the end of an answer that is longer is asked for again, however large other answers were. */
const longestPauseMs = 2 * hourMs;

export interface Judgement {
  readonly verdict: Verdict;
  /** What of the window is now known, or, of an empty answer, would be if a second one agrees. */
  readonly covered: Range | null;
  /** What a cut short answer leaves of the closed part of its window. */
  readonly rest: Range | null;
  /** What had closed by our clock, but not by the source's: not to be asked again at once. */
  readonly stale: Range | null;
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
  const closedMs = Math.min(window.endMs, input.closedUpToMs);
  const endMs = Math.min(closedMs, input.answeredUpToMs);
  const stale = rangeOf(Math.max(window.startMs, input.answeredUpToMs), closedMs);
  const covered = rangeOf(window.startMs, endMs);
  const last = timesMs.at(-1);
  if (last === undefined && input.rejected > 0)
    return { verdict: 'unreadable', covered: null, rest: null, stale };
  if (covered === null) {
    const verdict = stale !== null ? 'stale' : last === undefined ? 'empty' : 'filled';
    return { verdict, covered, rest: null, stale };
  }
  if (last === undefined) return { verdict: 'empty', covered, rest: null, stale };

  const length = intervalMs[interval];
  const reachedMs = last + length;
  const silenceMs = endMs - reachedMs;
  const mayBeCapped = timesMs.length + input.rejected >= input.mostRows || silenceMs > longestPauseMs;
  // One period of slack: the newest point of a range may arrive late without the answer being capped.
  if (mayBeCapped && silenceMs > Math.max(length, longestHole(timesMs, length))) {
    const read = { startMs: window.startMs, endMs: reachedMs };
    return { verdict: 'cut_short', covered: read, rest: rangeOf(reachedMs, endMs), stale };
  }
  return { verdict: 'filled', covered, rest: null, stale };
}

function rangeOf(startMs: EpochMs, endMs: EpochMs): Range | null {
  return startMs < endMs ? { startMs, endMs } : null;
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
