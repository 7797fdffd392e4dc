/** Estimates the disk space of points to be fetched. */

import { dayMs, type EpochMs, hourMs, intervalMs } from '../contract/intervals.ts';
import type { PlannedSeries } from './estimate.ts';
import { clip, lengthMs } from './ranges.ts';

export interface DiskRules {
  /** Bytes of a point including indexes: as a row, and in its final form. */
  readonly bytes: { readonly row: number; readonly kept: number };
  /** The newest days that stay rows. */
  readonly rowDays: number;
  readonly nowMs: EpochMs;
  /** Share of the missing points that arrive within an hour. */
  readonly hourlyShare: number;
}

export interface Disk {
  readonly bytes: number;
  /** Peak of rows: those that arrive within an hour, until the columnstore's hourly policy runs. */
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

/** @param durationMs duration of the backfill; null: the source has no limit. */
export function hourlyShareOf(durationMs: number | null): number {
  return durationMs === null ? 1 : Math.min(1, hourMs / Math.max(1, durationMs));
}
