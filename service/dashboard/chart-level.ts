/** Which interval a chart is drawn in: the server answers only so many periods, and the page asks accordingly. */

import { candleIntervals, type EpochMs, type Interval, intervalMs } from '../../contract/intervals.ts';

/** Periods of one answer. */
export const mostPeriods = 2000;

/** The series' own interval, and every coarser one that is made of whole periods of it. */
export function chartIntervals(own: Interval): Interval[] {
  return [
    own,
    ...candleIntervals.filter(
      (one) => intervalMs[one] > intervalMs[own] && intervalMs[one] % intervalMs[own] === 0,
    ),
  ];
}

/** The finest of which no more than so many periods span a range; else the coarsest. */
export function chartInterval(own: Interval, spanMs: EpochMs, most: number): Interval {
  const intervals = chartIntervals(own);
  return intervals.find((one) => spanMs / intervalMs[one] <= most) ?? intervals.at(-1) ?? own;
}
