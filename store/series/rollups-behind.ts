/** The days of a series whose stored rollups no longer agree with its points. */

import { datasetNames, datasets } from '../../model/datasets/index.ts';
import { dayMs, intervalMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';

/** Whether a series of the dataset has stored rollups, as SQL. */
export const isRolledUp = `dataset in (${datasetNames
  .filter((name) => datasets[name].longer === 'rolled up')
  .map((name) => `'${name}'`)
  .join(', ')})`;

/**
 * The whole days around changed points, for `rollups_behind` of their series; null: the series has no stored rollups.
 */
export function daysBehind(series: SeriesKey, { startMs, endMs }: Range): Range | null {
  if (datasets[series.dataset].longer !== 'rolled up' || intervalMs[series.interval] >= dayMs) return null;
  return { startMs: Math.floor(startMs / dayMs) * dayMs, endMs: Math.ceil(endMs / dayMs) * dayMs };
}

/** Marks every day of every series as changed. For points that were not written by a commit. */
export const markAllBehind = `
update tidemark.series
   set rollups_behind = tstzmultirange(tstzrange(date_bin('1 day', earliest, timestamptz 'epoch'),
                                                 date_bin('1 day', newest, timestamptz 'epoch') + interval '24 hours'))
 where ${isRolledUp} and period < interval '24 hours' and earliest <= newest`;
