/** The time until the missing windows are fetched, from the answers of the last minutes: the same figure everywhere. */

import { type EpochMs, minuteMs } from '../model/intervals.ts';
import { sum } from '../model/sum.ts';
import { atMost, perMs, type Sample, settledMs, timeLeftMs } from './rate.ts';

/** Length of the parts of the ledger in which answers are counted. */
export const answersMs = 5000;

/** Answers of a source in the lanes that fill gaps, in a part of the ledger. Parts without an answer are left out. */
export interface RecentAnswers {
  readonly source: string;
  /** The end of the part. */
  readonly endMs: EpochMs;
  readonly answers: number;
  /** Those of the lane `refresh`. */
  readonly refreshes: number;
}

/** Age of the oldest answers that count. */
export const recentMs = 10 * minuteMs;

/** What a source is to be asked for. */
export interface SourceWork {
  readonly source: string;
  /** Requests that can be made now. */
  readonly asked: number;
  /** The budget; 0: no limit. */
  readonly perMinute: number;
}

/**
 * Sources are asked at the same time: the last one decides. One whose rate is not known counts with its budget, and if
 * it may be the last one nothing is known.
 *
 * @param recent ascending. @param arriving periods that close in a minute. @param readAtMs when `recent` was read.
 * @returns rounded; null: unknown, nothing moves, or it never ends.
 */
export function requestsEtaMs(
  work: readonly SourceWork[],
  recent: readonly RecentAnswers[],
  { readAtMs, arriving }: { readAtMs: EpochMs; arriving: number },
): number | null {
  let knownMs = 0;
  let unknownMs = 0;
  for (const { source, asked, perMinute } of work) {
    if (asked === 0) continue;
    const rate = netRate(
      recent.filter((one) => one.source === source),
      { readAtMs, arriving, perMinute },
    );
    const ms = timeLeftMs(asked, rate);
    if (ms !== null) knownMs = Math.max(knownMs, ms);
    else if (perMinute === 0 || rate !== null) return null;
    else unknownMs = Math.max(unknownMs, (asked * minuteMs) / perMinute);
  }
  return unknownMs > knownMs ? null : knownMs;
}

/** Windows of a series, or of several that are planned together, which take turns with those of others. */
export interface Turns {
  /** Not fetched yet. */
  readonly left: number;
  /** In the queue; what is queued comes before what is not. */
  readonly queued: number;
}

export const unqueued = ({ left, queued }: Turns) => Math.max(0, left - queued);

/** Requests to a source until all windows of `own` are fetched, those of others that come before included. */
export function requestsUntil(own: readonly Turns[], others: readonly Turns[]): number {
  const rounds = own.reduce((most, one) => Math.max(most, unqueued(one)), 0);
  const before = others.map((one) => Math.min(one.left, one.queued) + Math.min(unqueued(one), rounds));
  return sum(own.map(({ left }) => left)) + sum(before);
}

/**
 * How fast the requests of a source become fewer. Refreshes go on beside a backfill, and take away what closing periods
 * add. Where only they run, series lag: a window covers several periods then, so no more are added than they take away.
 */
function netRate(
  recent: readonly RecentAnswers[],
  { readAtMs, arriving, perMinute }: { readAtMs: EpochMs; arriving: number; perMinute: number },
): number | null {
  const rateOf = (amount: (one: RecentAnswers) => number) => {
    const rate = perMs(samplesOf(recent, amount, readAtMs), settledMs);
    return rate === null ? null : atMost(rate, perMinute);
  };
  if (recent.some(({ answers, refreshes }) => answers > refreshes))
    return rateOf(({ answers, refreshes }) => answers - refreshes);
  const rate = rateOf(({ refreshes }) => refreshes);
  return rate === null ? null : rate - Math.min(arriving / minuteMs, rate);
}

function samplesOf(recent: readonly RecentAnswers[], amount: (one: RecentAnswers) => number, nowMs: EpochMs): Sample[] {
  const samples: Sample[] = [];
  let done = 0;
  for (const one of recent.filter((each) => amount(each) > 0)) {
    const startMs = one.endMs - answersMs;
    if ((samples.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) < startMs) samples.push({ atMs: startMs, done });
    done += amount(one);
    samples.push({ atMs: Math.min(one.endMs, nowMs), done });
  }
  return samples.length === 0 ? [] : [...samples, { atMs: nowMs, done }];
}
