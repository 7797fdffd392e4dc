/** How far rollups are materialised, and in which steps. */

import { dayMs } from '../../contract/intervals.ts';
import { type RollupLevel, rollupLevels } from './levels.ts';

/**
 * How far behind the present a level is materialised. What is newer is answered from the points, so it is never late,
 * and the candles that still open, close and are revised cause no refresh. A day for the finest, and one more for each level above: changes below what is materialised
 * are logged only where the level beneath has been materialised too.
 */
export function lagMs(level: RollupLevel): number {
  return depth(level) * dayMs;
}

function depth(level: RollupLevel): number {
  const from = rollupLevels.find(({ interval }) => interval === level.from);
  return from === undefined ? 1 : depth(from) + 1;
}

/**
 * Buckets of one step, each a transaction of its own: thirty days, a chunk of the points; for the coarse ones ten years. (TimescaleDB's own
 * ten buckets took thirty times as long over eleven years of minutes.)
 */
export function bucketsPerBatch(level: RollupLevel): number {
  return Math.max(500, Math.round((30 * dayMs) / level.periodMs));
}

/**
 * The options of a refresh, by hand or by policy. The oldest comes first: a rollup's watermark then never passes what
 * is not materialised yet, which would be missing from its answers.
 */
export function batchOptions(level: RollupLevel): {
  buckets_per_batch: number;
  refresh_newest_first: boolean;
} {
  return { buckets_per_batch: bucketsPerBatch(level), refresh_newest_first: false };
}
