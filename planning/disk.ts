/** What points that are about to come will take on disk. */

import { dayMs, type EpochMs, hourMs, intervalMs } from '../contract/intervals.ts';
import type { PlannedSeries } from './estimate.ts';
import { clip, lengthMs } from './ranges.ts';

export interface DiskRules {
  /** Bytes a point with all that belongs to it: as a row, and as it is kept in the end. */
  readonly bytes: { readonly row: number; readonly kept: number };
  /** Of the newest, how many days stay rows. */
  readonly rowDays: number;
  readonly nowMs: EpochMs;
  /** Part of what is missing that comes within an hour. */
  readonly hourlyShare: number;
}

export interface Disk {
  readonly bytes: number;
  /**
   * What comes within an hour are rows before the columnstore's policy, which runs every hour, comes by: the most that
   * there is at a time.
   */
  readonly peakBytes: number;
}

/** @param planned series of one dataset. */
export function diskFor(planned: readonly PlannedSeries[], rules: DiskRules): Disk {
  const { row, kept } = rules.bytes;
  const newest = { startMs: rules.nowMs - rules.rowDays * dayMs, endMs: Number.POSITIVE_INFINITY };
  let older = 0;
  let rows = 0;
  for (const { series, missing, density } of planned) {
    const points = (ranges: typeof missing) =>
      (lengthMs(ranges) / intervalMs[series.interval]) * (density ?? 1);
    const young = points(clip(missing, newest));
    rows += young;
    older += points(missing) - young;
  }
  const bytes = rows * row + older * kept;
  return { bytes, peakBytes: bytes + older * rules.hourlyShare * (row - kept) };
}

/** @param durationMs how long what is missing takes; null: the source has no limit. */
export function hourlyShareOf(durationMs: number | null): number {
  return durationMs === null ? 1 : Math.min(1, hourMs / Math.max(1, durationMs));
}
