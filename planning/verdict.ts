/**
 * What an answer proves about its window.
 *
 * filled      points came: covered up to the last closed period.
 * cut_short   points that leave a silence at the window's start or end, in an answer that a cap on its rows may have
 *             cut there. Any may have been cut that has no fewer rows than each other answer of late; one that has
 *             fewer was not, and then the market paused. However few its rows, an answer that ends hours early, and
 *             pauses nowhere else as long, is not believed at once either. Covered is what the answer holds, the rest
 *             stays a gap. It is asked for again together with the point beside it: of a market that paused just that
 *             point comes back, one row where more could have come, and the silence is proved.
 * empty       an answer without points. Not covered: a source having a bad day answers so too.
 * stale       the window has closed periods, but by the source's own clock none had closed when it answered: a copy
 *             of an older answer, or a clock that is behind. Nothing is covered.
 * unreadable  rows came, and none of them can be read or belongs to the window: covers nothing.
 *
 * Periods between the points that came are covered without a row: sources leave out what was not traded. So is the
 * period of a row that cannot be read. It was answered, its row is in quarantine, and asking again gives it again.
 */

import { type EpochMs, hourMs, type Interval, intervalMs, periodStart } from '../contract/intervals.ts';
import type { Range } from './ranges.ts';

export type Verdict = 'filled' | 'cut_short' | 'empty' | 'stale' | 'unreadable';

/** A silence at the end of an answer that is longer is asked for again, however large other answers were. */
const longestPauseMs = 2 * hourMs;

export interface Judgement {
  readonly verdict: Verdict;
  /** What of the window is now known, or, of an empty answer, would be if a second one agrees. */
  readonly covered: Range | null;
  /** What a cut short answer leaves of the closed part of its window, at either side. */
  readonly rest: readonly Range[];
  /** What had closed by our clock, but not by the source's: not to be asked again at once. */
  readonly stale: Range | null;
}

/**
 * @param timesMs start of each period in the answer: ascending, without duplicates, in the window.
 * @param rejected rows of the answer that could not be read: they are holes, not emptiness.
 * @param strangers readable rows that do not belong to the window, nor next to it.
 * @param rows all rows of the answer, as a cap counts them.
 * @param mostRows rows of the largest answer of late to which the same cap would have applied.
 * @param isNews whether a point came that was not stored. If not, the point beside a silence proves nothing any more.
 * @param closedUpToMs end of the last closed period, by our clock.
 * @param answeredUpToMs the same by the clock of the source, as its answer's timestamp shows it.
 */
export function judge(input: {
  readonly window: Range;
  readonly interval: Interval;
  readonly timesMs: readonly EpochMs[];
  readonly rejected: number;
  readonly strangers: number;
  readonly rows: number;
  readonly mostRows: number;
  readonly isNews: boolean;
  readonly closedUpToMs: EpochMs;
  readonly answeredUpToMs: EpochMs;
}): Judgement {
  const { window, timesMs } = input;
  const closedMs = Math.min(window.endMs, input.closedUpToMs);
  const endMs = Math.min(closedMs, input.answeredUpToMs);
  const stale = rangeOf(Math.max(window.startMs, input.answeredUpToMs), closedMs);
  const covered = rangeOf(window.startMs, endMs);
  const isEmpty = timesMs.length === 0;
  if (isEmpty && input.rejected + input.strangers > 0)
    return { verdict: 'unreadable', covered: null, rest: [], stale };
  if (covered === null) {
    const verdict = stale !== null ? 'stale' : isEmpty ? 'empty' : 'filled';
    return { verdict, covered, rest: [], stale };
  }
  if (isEmpty) return { verdict: 'empty', covered, rest: [], stale };
  const read = uncut(input, covered);
  const rest = [rangeOf(covered.startMs, read.startMs), rangeOf(read.endMs, covered.endMs)].filter(
    (range) => range !== null,
  );
  if (rest.length === 0) return { verdict: 'filled', covered, rest, stale };
  return { verdict: 'cut_short', covered: rangeOf(read.startMs, read.endMs), rest, stale };
}

/** What of the answered part of a window no cap can have taken rows from. */
function uncut(input: Parameters<typeof judge>[0], answered: Range): Range {
  const { timesMs, interval } = input;
  const length = intervalMs[interval];
  // A week may begin on any day, and its coverage does on a Monday.
  const firstMs = Math.min(periodStart(timesMs[0] ?? answered.startMs, interval), answered.endMs);
  const lastMs = periodStart(timesMs.at(-1) ?? answered.startMs, interval);
  const closed = timesMs.filter((timeMs) => timeMs < answered.endMs).length;
  const isWhole = (closed + input.rejected) * length >= answered.endMs - answered.startMs;
  const mayBeCapped = input.rows >= input.mostRows && !isWhole;
  const silenceMs = answered.endMs - (lastMs + length);
  const endsEarly = silenceMs > longestPauseMs && silenceMs > longestHole(timesMs, length);
  const isCutAtStart = mayBeCapped && firstMs - answered.startMs >= length;
  const isCutAtEnd = endsEarly || (mayBeCapped && silenceMs >= length);
  // How many points are asked for again beside a silence, so that at least one period is covered each time.
  const again = input.isNews ? timesMs.length - 1 : 0;
  const againAtEnd = isCutAtEnd && again >= 1;
  const againAtStart = isCutAtStart && again >= (againAtEnd ? 2 : 1);
  return {
    startMs: isCutAtStart ? firstMs + (againAtStart ? length : 0) : answered.startMs,
    endMs: isCutAtEnd ? lastMs + (againAtEnd ? 0 : length) : answered.endMs,
  };
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
