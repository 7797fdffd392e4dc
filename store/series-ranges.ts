/** Ranges of series, as queries give them: a row each, in order of series and time. */

import type { EpochMs } from '../contract/intervals.ts';
import type { CoveredSeries } from '../planning/sample.ts';
import type { Database } from './database.ts';
import { type SeriesRow, seriesColumns, seriesOf } from './series.ts';

export interface RangeRow extends SeriesRow {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/** One entry a series, in the order in which the series come first. */
export function rangesBySeries(rows: readonly RangeRow[]): CoveredSeries[] {
  const found = new Map<number, CoveredSeries & { ranges: { startMs: EpochMs; endMs: EpochMs }[] }>();
  for (const row of rows) {
    const entry = found.get(row.id) ?? { seriesId: row.id, series: seriesOf(row), ranges: [] };
    entry.ranges.push({ startMs: row.start, endMs: row.end });
    found.set(row.id, entry);
  }
  return [...found.values()];
}

/**
 * What is covered, but for what lies before the beginning of a series: that was asked for by days only, a request for
 * years.
 *
 * @param seriesIds absent: of every series that is tracked.
 */
export async function coveredSeries(
  database: Database,
  seriesIds: readonly number[] | undefined,
): Promise<CoveredSeries[]> {
  const result = await database.pool.query<RangeRow>(
    `select ${seriesColumns}, lower(r) as start, upper(r) as end
     from tidemark.series s, unnest(s.covered - s.before_beginning) r
     where case when $1::int[] is null then s.untracked_at is null else s.id = any ($1) end
     order by s.id, r`,
    [seriesIds],
  );
  return rangesBySeries(result.rows);
}
