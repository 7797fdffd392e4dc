/** The intervals of charts. The page uses this as well. */

import { candleIntervals } from '../model/datasets/candles.ts';
import { type EpochMs, type Interval, intervalMs } from '../model/intervals.ts';

/** Largest number of periods in one response of points. */
export const maxPeriods = 2000;

/** The intervals of a series' chart: its own, and each coarser one that consists of whole periods of it. */
export function chartIntervals(own: Interval): Interval[] {
  return [
    own,
    ...candleIntervals.filter((one) => intervalMs[one] > intervalMs[own] && intervalMs[one] % intervalMs[own] === 0),
  ];
}

/** The finest interval with at most `most` periods in the range, or else the coarsest. */
export function chartInterval(own: Interval, spanMs: EpochMs, most: number): Interval {
  const intervals = chartIntervals(own);
  return intervals.find((one) => spanMs / intervalMs[one] <= most) ?? intervals.at(-1) ?? own;
}
