/** What the screen lacks: the next piece to ask for, and in which interval. */

import { type Interval, intervalMs, nextPeriodStart, periodStart } from '../../../contract/intervals.ts';
import { chartInterval, chartIntervals, mostPeriods } from '../chart-level.ts';

interface Range {
  readonly startMs: number;
  readonly endMs: number;
}

interface Held extends Range {
  readonly interval: string;
}

export interface Bounds {
  /** The series' own interval. */
  readonly own: Interval;
  /** Where it begins, and where it ends. */
  readonly earliestMs: number;
  readonly latestMs: number;
  /** Bars that the screen has room for. */
  readonly mostBars: number;
}

/** Of one answer, with room for the periods at its ends. */
const mostAsked = mostPeriods - 4;
/** A finer interval has to fill no more of the screen than this, lest it go back and forth. */
const roomy = 0.7;
/** Fewer periods are not worth a question. */
const leastAsked = 200;

/**
 * Null: the screen, and half as much on either side, is there as far as there is anything. Else whole periods of the
 * interval's grid, wherever between two of them the screen begins or ends: the server takes whole milliseconds only.
 */
export function nextPiece(
  screen: Range,
  held: Held | null,
  bounds: Bounds,
): (Range & { readonly interval: Interval }) | null {
  const spanMs = screen.endMs - screen.startMs;
  const interval = intervalFor(screen, held, bounds);
  const periodMs = intervalMs[interval];
  const floorMs = (timeMs: number) => periodStart(timeMs, interval);
  const ceilMs = (timeMs: number) => nextPeriodStart(Math.ceil(timeMs), interval);
  const [earliestMs, latestMs] = [floorMs(bounds.earliestMs), ceilMs(bounds.latestMs)];
  // Beyond its ends there is nothing to ask for, however far the screen reaches.
  const inside = (timeMs: number) => Math.min(Math.max(timeMs, earliestMs), latestMs);
  const [startMs, endMs] = [inside(screen.startMs), inside(screen.endMs)];
  if (held === null || held.interval !== interval || startMs > held.endMs || endMs < held.startMs) {
    // The screen, and as much on either side.
    const besideMs = Math.max(0, Math.min(spanMs, (mostAsked * periodMs - spanMs) / 2));
    const from = Math.max(earliestMs, floorMs(startMs - besideMs));
    const to = Math.min(latestMs, ceilMs(endMs + besideMs));
    return { interval, startMs: from, endMs: Math.max(to, from + periodMs) };
  }
  const pieceMs = Math.min(mostAsked * periodMs, Math.max(2 * spanMs, leastAsked * periodMs));
  if (startMs < held.startMs + spanMs / 2 && held.startMs > earliestMs)
    return { interval, startMs: Math.max(earliestMs, floorMs(held.startMs - pieceMs)), endMs: held.startMs };
  if (endMs > held.endMs - spanMs / 2 && held.endMs < latestMs)
    return { interval, startMs: held.endMs, endMs: Math.min(latestMs, ceilMs(held.endMs + pieceMs)) };
  return null;
}

/** The interval for the screen's span. */
export function intervalFor(
  { startMs, endMs }: Range,
  held: Held | null,
  { own, mostBars }: Bounds,
): Interval {
  const spanMs = endMs - startMs;
  const present = chartIntervals(own).find((one) => one === held?.interval);
  const finest = chartInterval(own, spanMs, mostBars);
  if (present === undefined || intervalMs[finest] >= intervalMs[present]) return finest;
  const finer = chartInterval(own, spanMs, mostBars * roomy);
  return intervalMs[finer] < intervalMs[present] ? finer : present;
}
