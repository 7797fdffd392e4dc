/** How a file moves the coverage of a series, within the transaction that stores its points. */

import type pg from 'pg';
import type { EpochMs, Interval } from '../../contract/intervals.ts';
import { periodOf } from '../../planning/file-coverage.ts';
import { normalize, type Range } from '../../planning/ranges.ts';
import { timeRange, timestamp } from '../database.ts';
import { settleCovered } from '../pending.ts';
import type { PointChanges } from '../points.ts';

/** What a file states of a part of a series. */
export interface FileCoverage {
  readonly covered: readonly Range[];
  /** Of the covered: confirmed to be empty. */
  readonly confirmedEmpty: readonly Range[];
  /** Of the confirmed empty: asked for by days only. */
  readonly beforeBeginning: readonly Range[];
}

/**
 * Adds it to what is known here. Where a point is stored, or may be, nothing is said to be empty; and what the file
 * knows to be filled is no longer.
 */
export async function coverByFile(
  client: pg.PoolClient,
  seriesId: number,
  stated: FileCoverage & {
    readonly interval: Interval;
    readonly timesMs: readonly EpochMs[];
    readonly changes: PointChanges;
  },
): Promise<void> {
  const { timesMs, changes, interval } = stated;
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
                  points = s.points + $7, revised = s.revised + $8,
                  earliest = least(s.earliest, $5::timestamptz), newest = greatest(s.newest, $6::timestamptz)
             from stated t, held h
            where s.id = $1`,
    values: [
      seriesId,
      rangesOf(stated.covered),
      rangesOf(stated.confirmedEmpty),
      rangesOf(stated.beforeBeginning),
      momentOf(timesMs[0]),
      momentOf(timesMs.at(-1)),
      changes.fresh,
      changes.revised,
      rangesOf(held),
    ],
  });
  await settleCovered(client, [seriesId]);
}

function rangesOf(ranges: readonly Range[]): string[] {
  return ranges.map(({ startMs, endMs }) => timeRange(startMs, endMs));
}

function momentOf(timeMs: EpochMs | undefined): string | null {
  return timeMs === undefined ? null : timestamp(timeMs);
}
