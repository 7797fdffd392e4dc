/**
 * Silences: stretches without a point that are far longer than the series' own habit, such as between two coins that had one
 * ticker. Where a missing row proves nothing, one is asked for a second time before it is covered.
 */

import { dayMs, type EpochMs } from '../contract/intervals.ts';
import type { Range } from './ranges.ts';

/** A shorter one is an outage at most. */
const shortestMs = dayMs;
/** How many times as long as the silence that the others leave between two points on average. */
const timesUsual = 20;

/** Whether a silence is far longer than usual. @param of.othersMs sum of the other silences. @param of.points between which they lie. */
export function isLongSilence(
  lengthMs: number,
  of: { readonly othersMs: number; readonly points: number },
): boolean {
  return lengthMs >= shortestMs && lengthMs * of.points > timesUsual * of.othersMs;
}

/** The same as SQL, of expressions in seconds. */
export const isLongSilenceSql = (length: string, others: string, points: string) =>
  `(${length} >= ${shortestMs / 1000} and ${length} * ${points} > ${timesUsual} * (${others}))`;

/** The long silences between some points. @param timesMs starts of their periods, ascending. @param periodMs length of a period. */
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
