/** The tables that TimescaleDB divides into chunks. `schema/hypertables.ts` makes them so. */

import { datasets } from '../../model/datasets/index.ts';
import { eachList } from '../../model/lists/index.ts';

export interface Hypertable {
  readonly name: string;
  /** Days in a chunk of a new store: measured in docs/storage.md. */
  readonly chunkDays: number;
  /** Column that identifies the series or entry of a row, for tables with a columnstore. */
  readonly segmentBy: string | null;
  /** Whether it gets an additional index on time alone. */
  readonly timeIndex: boolean;
}

export const hypertables: readonly Hypertable[] = Object.freeze([
  ...Object.values(datasets).map(({ table, chunkDays }) => ({
    ...{ name: table, chunkDays, segmentBy: 'series_id', timeIndex: true },
  })),
  { name: 'rollup_hours', chunkDays: 30, segmentBy: 'series_id', timeIndex: false },
  { name: 'rollup_days', chunkDays: 360, segmentBy: 'series_id', timeIndex: false },
  ...eachList.map(({ tables: { states, id }, chunkDays, keeps }) => ({
    ...{ name: states, chunkDays, segmentBy: id, timeIndex: keeps === 'every poll' },
  })),
  // Few rows, of any age.
  { name: 'point_revisions', chunkDays: 360, segmentBy: null, timeIndex: true },
  // Kept for a month by default, and dropped by the day.
  { name: 'fetches', chunkDays: 1, segmentBy: null, timeIndex: false },
]);

/** Days in a chunk of a table, unless its chunks have another length. */
export function chunkDaysOf(name: string): number {
  const table = hypertables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`${name} has no chunks`);
  return table.chunkDays;
}
