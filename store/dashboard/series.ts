/** What the dashboard's page of one series shows beside its chart. */

import type { EpochMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { Database } from '../database.ts';
import { type SeriesRow, seriesColumns, seriesOf } from '../series.ts';

export interface ChartedSeries {
  readonly series: SeriesKey;
  readonly earliestMs: EpochMs | null;
  readonly newestMs: EpochMs | null;
}

/** Null: there is no such series. */
export async function chartedSeries(database: Database, seriesId: number): Promise<ChartedSeries | null> {
  const result = await database.pool.query<SeriesRow & { earliest: EpochMs | null; newest: EpochMs | null }>({
    name: 'dashboard-series',
    text: `select ${seriesColumns}, s.earliest, s.newest from tidemark.series s where s.id = $1`,
    values: [seriesId],
  });
  const [row] = result.rows;
  return row === undefined ? null : { series: seriesOf(row), earliestMs: row.earliest, newestMs: row.newest };
}
