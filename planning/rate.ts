/** How fast something was done lately, and how long what is left will take at that rate. */

import { dayMs, minuteMs } from '../contract/intervals.ts';

export interface Seen {
  /** By a clock that never goes back. */
  readonly atMs: number;
  /** How much was done by then; never less than before. */
  readonly done: number;
}

/** Lately: a minute, or for what is done more rarely as far back as it takes to see a few, but not for ever. */
const latelyMs = minuteMs;
const few = 10;
const farthestMs = 10 * minuteMs;
/** Below these a rate is chance. */
const leastMs = 3000;
const leastDone = 3;
/** Nothing for so long, and for the time in which so many were due: it has stopped. */
const stoppedMs = 30_000;
const stoppedDue = 5;
/** Closer together than this they tell nothing more. */
const apartMs = 1000;
/** Beyond this an estimate says nothing but that it will not be. */
const longestMs = 10 * 365 * dayMs;

/** What was seen, with one more sight, and without what is too long ago. */
export function seenAlso(seen: readonly Seen[], next: Seen): readonly Seen[] {
  const kept = seen.filter(({ atMs }) => atMs >= next.atMs - farthestMs && atMs <= next.atMs);
  const last = kept.at(-2);
  if (last !== undefined && next.atMs - last.atMs < apartMs) kept.pop();
  return [...kept, next];
}

/** Done in a millisecond, lately; null until that is known, and when it has stopped. */
export function perMs(seen: readonly Seen[]): number | null {
  const last = seen.at(-1);
  if (last === undefined) return null;
  const isEnough = ({ atMs, done }: Seen) => last.atMs - atMs >= latelyMs && last.done - done >= few;
  const from = seen.findLast(isEnough) ?? seen[0] ?? last;
  const elapsedMs = last.atMs - from.atMs;
  const done = last.done - from.done;
  if (elapsedMs < leastMs || done < leastDone) return null;
  const rate = done / elapsedMs;
  const before = seen.findLast((one) => one.done < last.done) ?? from;
  const idleMs = last.atMs - before.atMs;
  return idleMs > stoppedMs && idleMs * rate > stoppedDue ? null : rate;
}

/**
 * @param rate as {@link perMs} gives it. @param limits.perMinute the most that can be done in a minute; 0: any number.
 * @param limits.arriving how much comes on top in a minute.
 * @returns milliseconds; null where that is not known, or never comes.
 */
export function timeLeftMs(
  left: number,
  rate: number | null,
  limits: { readonly perMinute: number; readonly arriving?: number },
): number | null {
  if (left <= 0) return 0;
  if (rate === null) return null;
  const most = limits.perMinute > 0 ? limits.perMinute / minuteMs : Number.POSITIVE_INFINITY;
  const net = Math.min(rate, most) - (limits.arriving ?? 0) / minuteMs;
  const ms = left / net;
  return net > 0 && ms <= longestMs ? ms : null;
}
