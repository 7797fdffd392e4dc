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
/** How much longer than those before a break, or the time to the next one, may last. */
const unlike = 1.5;
/** How many times more the work does between two breaks than what was done before it had begun. */
const begunTimes = 4;
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
 * Shorter breaks that recur, such as those of a source that refuses requests each minute, are a part of the work: then
 * breaks count with the work between them. When they stay away, only the work since the last one counts.
 *
 * @returns null: the work is held now.
 */
function withoutHolds(all: readonly Sample[]): { seen: readonly Sample[]; windowMs: number } | null {
  const seen = sinceBegun(all);
  const last = seen.at(-1);
  if (last === undefined) return { seen, windowMs: rateWindowMs };
  const missed = missedIn(seen);
  const current = missed.find(({ endMs }) => endMs === last.atMs);
  const isShort = (one: Break) => one !== current && lengthOf(one) < minuteMs;
  const short = missed.filter(isShort);
  const now = current ?? { startMs: last.atMs, endMs: last.atMs };
  const between = (fromMs: number, toMs: number) => seen.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  if (doRecur(short, now)) {
    const [begun, newest] = [missed[0], lengthOf(now) > 0 ? now : short.at(-1)];
    // Since they have begun, whole ones with the work between: with a part of one, few are far from the mean.
    if (begun !== undefined && newest !== undefined && isShort(begun) && begun.startMs > last.atMs - brokenWindowMs)
      return { seen: between(begun.startMs, newest.startMs), windowMs: maxWindowMs };
    const holds = missed.filter((one) => one !== current && !isShort(one));
    return { seen: holds.reduce(without, seen), windowMs: brokenWindowMs };
  }
  if (current !== undefined && lengthOf(current) > stoppedMs) return null;
  const fromMs = short.length > 1 ? (short.at(-1)?.endMs ?? 0) : Number.NEGATIVE_INFINITY;
  return { seen: missed.reduce(without, between(fromMs, last.atMs)), windowMs: rateWindowMs };
}

/**
 * Leaves out the little that was done between breaks before the work began, such as what a source was asked again: the
 * breaks were times in which there was nothing to do.
 */
function sinceBegun(seen: readonly Sample[]): readonly Sample[] {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined) return seen;
  const missed = missedIn(seen);
  const starts = [first.atMs, ...missed.map(({ endMs }) => endMs)];
  const stretches = starts.map((fromMs, place) => {
    const toMs = missed[place]?.startMs ?? last.atMs;
    const of = seen.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
    return { fromMs, done: (of.at(-1)?.done ?? 0) - (of[0]?.done ?? 0) };
  });
  const most = Math.max(...stretches.map(({ done }) => done));
  const begun = stretches.find(({ done }) => done * begunTimes >= most);
  return begun === undefined ? seen : seen.filter(({ atMs }) => atMs >= begun.fromMs);
}

/** The times without progress in which several steps were missed. */
function missedIn(seen: readonly Sample[]): Break[] {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined) return [];
  const [allMs, done] = [last.atMs - first.atMs, last.done - first.done];
  return breaksOf(seen).filter((one) => (lengthOf(one) * done) / (allMs - lengthOf(one)) > missedSteps);
}

/**
 * Whether breaks go on to recur. They do not when the newest is much longer than those before, or stays away.
 *
 * @param short those that have ended, ascending. @param current the one that goes on; it begins now if there is none.
 */
function doRecur(short: readonly Break[], current: Break): boolean {
  const last = short.at(-1);
  if (last === undefined || short.length < 2) return false;
  const longestMs = Math.max(...short.map(lengthOf));
  const farthestMs = Math.max(...short.slice(1).map(({ startMs }, place) => startMs - (short[place]?.startMs ?? 0)));
  return lengthOf(current) <= unlike * longestMs && current.startMs - last.startMs <= unlike * farthestMs;
}

const lengthOf = ({ startMs, endMs }: Break) => endMs - startMs;

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

function without(seen: readonly Sample[], { startMs, endMs }: Break): readonly Sample[] {
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
