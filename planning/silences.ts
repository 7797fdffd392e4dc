/**
 * Silences: stretches without a point that are far longer than the series' own habit, such as between two coins that
 * had one ticker. Where a missing row proves nothing, one is asked for a second time before it is covered.
 */

import { dayMs, type EpochMs, hourMs } from '../model/intervals.ts';
import type { Range } from '../model/ranges.ts';

/**
 * How long a silence is at least, and how many times as long as the one that the others leave between two points on
 * average. A shorter one is an outage at most. Many markets have quiet hours each night: within a day the others count
 * for more, and one hour more is taken for granted.
 */
export const silenceRules = [
  { lengthMs: dayMs, timesUsual: 20, grantedMs: 0 },
  { lengthMs: hourMs, timesUsual: 1000, grantedMs: hourMs },
];

/**
 * Whether a silence is far longer than usual.
 *
 * @param of.othersMs sum of the other silences.
 * @param of.points between which they lie.
 */
export function isLongSilence(ofMs: number, of: { readonly othersMs: number; readonly points: number }): boolean {
  return silenceRules.some(
    ({ lengthMs, timesUsual, grantedMs }) =>
      ofMs >= lengthMs && ofMs * of.points > timesUsual * (of.othersMs + grantedMs),
  );
}

/**
 * The long silences between some points.
 *
 * @param timesMs starts of their periods, ascending.
 * @param periodMs length of a period.
 */
export function longSilences(timesMs: readonly EpochMs[], periodMs: number): Range[] {
  const silences: Range[] = [];
  for (const [place, timeMs] of timesMs.entries()) {
    const startMs = (timesMs[place - 1] ?? Number.POSITIVE_INFINITY) + periodMs;
    if (startMs < timeMs) silences.push({ startMs, endMs: timeMs });
  }
  const lengthOf = ({ startMs, endMs }: Range) => endMs - startMs;
  const allMs = silences.reduce((sum, silence) => sum + lengthOf(silence), 0);
  return silences.filter((silence) =>
    isLongSilence(lengthOf(silence), { othersMs: allMs - lengthOf(silence), points: timesMs.length }),
  );
}
