/** Adds a file's coverage to a series, within the transaction that stores its points. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import { normalize, type Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { periodOf } from '../../planning/periods.ts';
import { deleteCoveredWindows } from '../../store/commit/deferred-windows.ts';
import type { PointChanges } from '../../store/commit/write-points.ts';
import { timeRange, timestampOrNull } from '../../store/db/database.ts';
import { markChangedMonths } from '../../store/series/changed-months.ts';
import { daysBehind } from '../../store/upkeep/rollups-behind.ts';

/** Coverage of a part of a series, as stated by a file. */
export interface FileCoverage {
  readonly covered: readonly Range[];
  /** Covered ranges that are confirmed empty. */
  readonly confirmedEmpty: readonly Range[];
  /** Confirmed empty ranges that were requested by days only. */
  readonly beforeBeginning: readonly Range[];
}

/**
 * Adds the file's coverage. A range with a stored or possible point is not empty, and a range that the file
 * has points for is no longer empty.
 */
export async function addFileCoverage(
  client: pg.PoolClient,
  seriesId: number,
  stated: FileCoverage & {
    readonly series: SeriesKey;
    readonly timesMs: readonly EpochMs[];
    readonly changes: PointChanges;
  },
): Promise<void> {
  const { timesMs, changes, series } = stated;
  const { interval } = series;
  const [firstMs] = timesMs;
  const isChanged = changes.fresh + changes.changed > 0 && firstMs !== undefined;
  const lastMs = timesMs.at(-1) ?? firstMs ?? 0;
  const held = normalize(timesMs.map((timeMs) => periodOf(timeMs, interval)));
  await client.query({
    name: 'cover-by-file',
    text: `with stated as (
             select coalesce((select range_agg(r) from unnest($2::tstzrange[]) r), '{}') as covered,
                    coalesce((select range_agg(r) from unnest($3::tstzrange[]) r), '{}') as empty,
                    coalesce((select range_agg(r) from unnest($4::tstzrange[]) r), '{}') as before_beginning
           ), held as (
             select coalesce((select range_agg(r) from unnest($9::tstzrange[]) r), '{}') as ranges
           )
           update tidemark.series s
              set covered = s.covered + t.covered,
                  confirmed_empty = s.confirmed_empty - (t.covered - t.empty) - h.ranges
                                    + (t.empty - s.covered - s.uncovered_points),
                  before_beginning = s.before_beginning - (t.covered - t.empty) - h.ranges
                                     + (t.before_beginning - s.covered - s.uncovered_points),
                  begins = case when s.before_beginning && (t.covered - t.empty + h.ranges) then null else s.begins end,
                  uncovered_points = s.uncovered_points + h.ranges - (s.covered + t.covered),
                  rollups_behind = s.rollups_behind + tstzmultirange(coalesce($10::tstzrange, 'empty')),
                  points = s.points + $7, revised = s.revised + $8,
                  earliest = least(s.earliest, $5::timestamptz), newest = greatest(s.newest, $6::timestamptz),
                  newest_covered = greatest(s.newest_covered, $11::timestamptz)
             from stated t, held h
            where s.id = $1`,
    values: [
      seriesId,
      toRangeTexts(stated.covered),
      toRangeTexts(stated.confirmedEmpty),
      toRangeTexts(stated.beforeBeginning),
      timestampOrNull(firstMs),
      timestampOrNull(timesMs.at(-1)),
      changes.fresh,
      changes.revised,
      toRangeTexts(held),
      isChanged ? daysBehind(series, { startMs: firstMs, endMs: lastMs + 1 }) : null,
      timestampOrNull(timesMs.findLast((timeMs) => includes(stated.covered, timeMs))),
    ],
  });
  if (isChanged) await markChangedMonths(client, [{ seriesId, firstMs, lastMs }]);
  await deleteCoveredWindows(client, [seriesId]);
}

function includes(ranges: readonly Range[], timeMs: EpochMs): boolean {
  return ranges.some(({ startMs, endMs }) => startMs <= timeMs && timeMs < endMs);
}

function toRangeTexts(ranges: readonly Range[]): string[] {
  return ranges.map(({ startMs, endMs }) => timeRange(startMs, endMs));
}
