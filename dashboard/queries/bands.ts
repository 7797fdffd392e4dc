/**
 * Coverage as bands: a range cut into columns, and the columns that each state touches. Points are never
 * read.
 */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { type Database, timestamp, timestampOrNull } from '../../store/db/database.ts';
import { isFailed } from '../../store/series/gap-reasons.ts';
import { atAndGrace } from '../../store/series/gaps.ts';

type Layer = 'tracked' | 'covered' | 'empty' | 'gap' | 'failed';

/** Layers list columns as flat pairs: first, and one past the last. */
export type StoredBand = Range & { readonly id: number } & Readonly<Record<Layer, readonly number[]>>;

/**
 * The columns that a multirange touches. A column counts even if it is touched in part, so that short ranges
 * show.
 */
const touchedColumns = (multirange: string) => `
  coalesce((select range_agg(int4range(first, greatest(past, first + 1)))
            from unnest(${multirange} * tstzmultirange(tstzrange(a.start, a.ending))) r,
            lateral (select floor(extract(epoch from lower(r) - a.start) / a.step)::int as first,
                            ceil(extract(epoch from upper(r) - a.start) / a.step)::int as past) c), '{}')::text`;

/**
 * @param query.range the range to show; null: each series' own tracked range, up to now.
 * @param query.columns the number of columns. It bounds the answer, however many ranges a series has.
 */
export async function readBands(
  database: Database,
  query: {
    nowMs: EpochMs;
    graceMs: number;
    seriesIds: readonly number[];
    range: Range | null;
    columns: number;
  },
): Promise<StoredBand[]> {
  const result = await database.pool.query<Range & { id: number } & Record<Layer, string>>({
    name: 'dashboard-bands',
    text: `
      with measured as materialized (
        select s.*, case when s.untracked_at is null then s.missing else '{}' end as missing_ranges,
               coalesce($4::timestamptz, lower(s.tracked)) as start,
               greatest(coalesce($5::timestamptz, upper(s.tracked), $1::timestamptz),
                        coalesce($4::timestamptz, lower(s.tracked)) + s.period) as ending
        from tidemark.closed_series(${atAndGrace}) s where s.id = any ($3)
      ), a as materialized (
        select *, extract(epoch from ending - start) / $6::integer as step from measured
      )
      select a.id, a.start as "startMs", a.ending as "endMs",
             ${touchedColumns('tstzmultirange(a.tracked * tstzrange(null, greatest($1::timestamptz, lower(a.tracked))))')} as tracked,
             ${touchedColumns('a.covered')} as covered,
             ${touchedColumns('a.confirmed_empty')} as empty,
             ${touchedColumns('a.missing_ranges')} as gap,
             ${touchedColumns(`case when a.blocked_until > $1 then a.missing_ranges else a.missing_ranges * coalesce((
               select range_agg(p.range) from tidemark.pending_windows p
               where p.series_id = a.id and ${isFailed('p.reason')} and not p.of_covered), '{}') end`)} as failed
      from a order by a.id`,
    values: [
      timestamp(query.nowMs),
      query.graceMs,
      [...query.seriesIds],
      timestampOrNull(query.range?.startMs),
      timestampOrNull(query.range?.endMs),
      query.columns,
    ],
  });
  return result.rows.map((row) => ({
    ...row,
    tracked: parsePairs(row.tracked),
    covered: parsePairs(row.covered),
    empty: parsePairs(row.empty),
    gap: parsePairs(row.gap),
    failed: parsePairs(row.failed),
  }));
}

/** Parses PostgreSQL's text of an `int4multirange`, which is always half-open: `{[0,3),[5,9)}`. */
function parsePairs(multirange: string): number[] {
  return (multirange.match(/\d+/g) ?? []).map(Number);
}
