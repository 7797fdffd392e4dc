/** Outages of the synthetic service: 13 to 20 minutes that most series lack, as in the field (field notes, "Time"). */

import { minutesPerDay } from '../calendar.ts';
import { hashAt, streamKey, uniformAt } from '../hash.ts';

/** Minutes of the day, half-open. */
export interface Outage {
  readonly start: number;
  readonly end: number;
}

const maxPerDay = 3;
const shareOfDays = 0.25;
/** Share of outages that do not affect a series. */
const unaffectedShare = 0.15;

/** @returns the outages of `day` (counted from the origin) in the series with this key. */
export type Outages = (day: number, seriesKey: number) => Outage[];

export function createOutages(seed: string): Outages {
  const key = streamKey(seed, 'outages');
  return (day, seriesKey) => {
    const found: Outage[] = [];
    for (let at = 0; at < maxPerDay; at++) {
      const position = day * maxPerDay + at;
      if (uniformAt(key, position) >= shareOfDays) continue;
      if (uniformAt(seriesKey ^ key, position) < unaffectedShare) continue;
      const hash = hashAt(key ^ 0x55555555, position);
      const length = 13 + (hash % 8);
      // Within the day, so that the rows of a day do not depend on other days.
      const start = (hash >>> 3) % (minutesPerDay - length);
      found.push({ start, end: start + length });
    }
    return found;
  };
}
