/** The time until the missing windows are fetched, from the answers of the last minutes: the same figure everywhere. */

import { type EpochMs, minuteMs } from '../model/intervals.ts';
import { perMs, type Sample, timeLeftMs } from './rate.ts';

/** Length of the parts of the ledger in which answers are counted. */
export const answersMs = 5000;

/** Answers of the lanes that fill gaps, in a part of the ledger. Parts without an answer are left out. */
export interface RecentAnswers {
  /** The end of the part. */
  readonly endMs: EpochMs;
  readonly answers: number;
  /** Those of the lane `refresh`. */
  readonly refreshes: number;
}

/** Age of the oldest answers that count. */
export const recentMs = 10 * minuteMs;

/**
 * Periods close meanwhile, and each adds a window to a series that has no newest gap yet. A series that lags has one: a
 * window that covers several periods takes them all. So no more are added than refreshes take away.
 *
 * @param left windows that can be requested now. @param recent ascending.
 * @param arriving periods that close in a minute. @param perMinute the budget; 0: no limit.
 * @returns null: unknown, nothing moves, or it never ends.
 */
export function windowsEtaMs(
  left: number,
  recent: readonly RecentAnswers[],
  { nowMs, arriving, perMinute }: { nowMs: EpochMs; arriving: number; perMinute: number },
): number | null {
  const rate = perMs(samplesOf(recent, ({ answers }) => answers, nowMs));
  const refreshes = perMs(samplesOf(recent, (one) => one.refreshes, nowMs)) ?? 0;
  return timeLeftMs(left, rate, { perMinute, arriving: Math.min(arriving, refreshes * minuteMs) });
}

function samplesOf(recent: readonly RecentAnswers[], amount: (one: RecentAnswers) => number, nowMs: EpochMs): Sample[] {
  const samples: Sample[] = [];
  let done = 0;
  for (const one of recent) {
    const startMs = one.endMs - answersMs;
    if ((samples.at(-1)?.atMs ?? startMs) < startMs) samples.push({ atMs: startMs, done });
    done += amount(one);
    samples.push({ atMs: Math.min(one.endMs, nowMs), done });
  }
  return samples.length === 0 ? [] : [...samples, { atMs: nowMs, done }];
}
