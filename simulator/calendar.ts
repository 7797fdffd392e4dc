/** Days and minutes counted from the simulator's origin. */

import { dayMs, type EpochMs, minuteMs } from '../model/intervals.ts';

/** The start of every price process. There is no data before it. */
export const originMs: EpochMs = Date.UTC(2010, 0, 1);

export const minutesPerDay = 1440;
export const hoursPerDay = 24;
export const minutesPerHour = 60;

/** Whole days since the origin; negative before it. */
export function dayOf(timeMs: EpochMs): number {
  return Math.floor((timeMs - originMs) / dayMs);
}

/** Whole minutes since the origin; negative before it. */
export function minuteOf(timeMs: EpochMs): number {
  return Math.floor((timeMs - originMs) / minuteMs);
}

export function dayStartMs(day: number): EpochMs {
  return originMs + day * dayMs;
}

export function minuteStartMs(minute: number): EpochMs {
  return originMs + minute * minuteMs;
}
