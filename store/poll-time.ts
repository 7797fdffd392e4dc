/** The time of a poll, which everything that came of it is stamped with. */

import { dayMs, type EpochMs } from '../contract/intervals.ts';

/**
 * Clocks differ by minutes. A time further ahead is none: it would be the newest for ever, or one that no database
 * holds.
 */
const farthestAheadMs = dayMs;

/** The source's time, or ours where the answer has none or an impossible one. */
export function pollTime(sourceTimeMs: EpochMs | null, nowMs: EpochMs): EpochMs {
  return sourceTimeMs === null || sourceTimeMs > nowMs + farthestAheadMs ? nowMs : sourceTimeMs;
}
