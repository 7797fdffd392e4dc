/** The recent rate of some work, and the time that the rest takes at this rate. */

import { dayMs, minuteMs } from '../model/intervals.ts';

export interface Sample {
  /** By a monotonic clock. */
  readonly atMs: number;
  /** Cumulative amount. */
  readonly done: number;
}

/** Window of the rate: one minute, or longer for rare events. */
const rateWindowMs = minuteMs;
const minEvents = 10;
const maxWindowMs = 10 * minuteMs;
/** Fewer samples give no reliable rate. */
const minMs = 3000;
const minDone = 3;
/** Without progress for so long, and for the time of so many steps, the work has stopped. */
const stoppedMs = 30_000;
const missedSteps = 5;
/** Shorter times without progress are a part of the work. */
const interruptedMs = 10_000;
/** Closer samples add nothing. */
const minSpacingMs = 1000;
/** Longer estimates are not shown. */
const longestMs = 10 * 365 * dayMs;

/** Adds a sample and drops old ones. */
export function addSample(seen: readonly Sample[], next: Sample): readonly Sample[] {
  const kept = seen.filter(({ atMs }) => atMs >= next.atMs - maxWindowMs && atMs <= next.atMs);
  const last = kept.at(-2);
  if (last !== undefined && next.atMs - last.atMs < minSpacingMs) kept.pop();
  return [...kept, next];
}

/** Amount per millisecond; null: unknown, or the work has stopped. */
export function perMs(samples: readonly Sample[]): number | null {
  const seen = withoutInterruption(samples);
  const last = seen.at(-1);
  if (last === undefined) return null;
  const isEnough = ({ atMs, done }: Sample) => last.atMs - atMs >= rateWindowMs && last.done - done >= minEvents;
  const from = seen.findLast(isEnough) ?? seen[0] ?? last;
  const elapsedMs = last.atMs - from.atMs;
  const done = last.done - from.done;
  if (elapsedMs < minMs || done < minDone) return null;
  const rate = done / elapsedMs;
  const before = seen.findLast((one) => one.done < last.done) ?? from;
  const idleMs = last.atMs - before.atMs;
  return idleMs > stoppedMs && idleMs * rate > missedSteps ? null : rate;
}

/**
 * Leaves out the newest time in which the work was interrupted, as by an outage: it says nothing about the rest. Only
 * one, because pauses that recur, such as those of a source that refuses requests each minute, are a part of the work.
 */
function withoutInterruption(seen: readonly Sample[]): readonly Sample[] {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined) return seen;
  const done = last.done - first.done;
  let idle = { startMs: 0, endMs: 0 };
  /** The first sample with the amount of the one before. */
  let since = first;
  let before = first;
  for (const one of seen) {
    if (one.done > since.done) {
      const idleMs = before.atMs - since.atMs;
      const missed = (idleMs * done) / (last.atMs - first.atMs - idleMs);
      if (idleMs >= interruptedMs && missed > missedSteps) idle = { startMs: since.atMs, endMs: before.atMs };
      since = one;
    }
    before = one;
  }
  const { startMs, endMs } = idle;
  return seen
    .filter(({ atMs }) => atMs <= startMs || atMs >= endMs)
    .map((one) => (one.atMs < endMs ? { ...one, atMs: one.atMs + endMs - startMs } : one));
}

/**
 * @param rate from {@link perMs}. @param limits.perMinute the limit per minute; 0: none.
 * @param limits.arriving amount per minute that is added meanwhile.
 * @returns milliseconds; null: unknown, or it never ends.
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
