/** The recent rate of some work, and the time that the rest takes at this rate. */

import { roundedDuration } from '../model/format.ts';
import { dayMs, minuteMs } from '../model/intervals.ts';

export interface Sample {
  /** By a monotonic clock. */
  readonly atMs: number;
  /** Cumulative amount. */
  readonly done: number;
}

/** Window of the rate: one minute, or longer for rare events. */
const rateWindowMs = minuteMs;
/** Window of the rate of work that has breaks. */
const brokenWindowMs = 5 * minuteMs;
const minEvents = 10;
const maxWindowMs = 10 * minuteMs;
/** Fewer samples give no reliable rate. */
const minMs = 3000;
const minDone = 3;
/** Length of the samples from which the time of the rest may be computed. */
export const settledMs = 30_000;
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

/** Amount per millisecond; null: unknown, or the work has stopped. @param leastMs length of the samples. */
export function perMs(samples: readonly Sample[], leastMs = minMs): number | null {
  const work = withoutHolds(samples);
  if (work === null) return null;
  const { seen, windowMs } = work;
  const last = seen.at(-1);
  if (last === undefined) return null;
  const isEnough = ({ atMs, done }: Sample) => last.atMs - atMs >= windowMs && last.done - done >= minEvents;
  const from = seen.findLast(isEnough) ?? seen[0] ?? last;
  const elapsedMs = last.atMs - from.atMs;
  const done = last.done - from.done;
  return elapsedMs < leastMs || done < minDone ? null : done / elapsedMs;
}

/**
 * Leaves out the time in which the work was held, as by an outage, a ban or a pause: it says nothing about the rest.
 * Shorter breaks that recur, such as those of a source that refuses requests each minute, are a part of the work.
 *
 * @returns null: the work is held now.
 */
function withoutHolds(seen: readonly Sample[]): { seen: readonly Sample[]; windowMs: number } | null {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined) return { seen, windowMs: rateWindowMs };
  const [allMs, done] = [last.atMs - first.atMs, last.done - first.done];
  const missed = breaksOf(seen).filter(({ startMs, endMs }) => {
    const ms = endMs - startMs;
    return (ms * done) / (allMs - ms) > missedSteps;
  });
  const current = missed.find(({ endMs }) => endMs === last.atMs);
  if (current !== undefined && current.endMs - current.startMs > stoppedMs) return null;
  const isLong = ({ startMs, endMs }: Break) => endMs - startMs >= minuteMs;
  const ended = missed.filter((one) => one !== current);
  const recur = ended.filter((one) => !isLong(one)).length > 1;
  const holds = missed.filter((one) => one === current || isLong(one) || !recur);
  return { seen: holds.reduce<readonly Sample[]>(without, seen), windowMs: recur ? brokenWindowMs : rateWindowMs };
}

interface Break {
  readonly startMs: number;
  readonly endMs: number;
}

/** The longer times without progress, ascending. */
function breaksOf(seen: readonly Sample[]): Break[] {
  const breaks: Break[] = [];
  /** The first sample with the amount of the one before. */
  let since = seen[0];
  let before = since;
  for (const one of [...seen, undefined]) {
    if (since !== undefined && before !== undefined && one?.done !== since.done) {
      if (before.atMs - since.atMs >= interruptedMs) breaks.push({ startMs: since.atMs, endMs: before.atMs });
      since = one;
    }
    before = one;
  }
  return breaks;
}

function without(seen: readonly Sample[], { startMs, endMs }: Break): Sample[] {
  return seen
    .filter(({ atMs }) => atMs <= startMs || atMs >= endMs)
    .map((one) => (one.atMs < endMs ? { ...one, atMs: one.atMs + endMs - startMs } : one));
}

/** @param rate per millisecond. @param perMinute the limit; 0: none. */
export function atMost(rate: number, perMinute: number): number {
  return perMinute > 0 ? Math.min(rate, perMinute / minuteMs) : rate;
}

/**
 * @param rate from {@link perMs}, less what is added meanwhile.
 * @returns milliseconds, rounded; null: unknown, or it never ends.
 */
export function timeLeftMs(left: number, rate: number | null): number | null {
  if (left <= 0) return 0;
  if (rate === null || rate <= 0) return null;
  const ms = left / rate;
  return ms <= longestMs ? roundedDuration(ms) : null;
}
