/** Coverage as bands: a range cut into columns, and the columns that each state touches. Points are never read. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, listOf, nullable, statement, time } from '../../store/db/statement.ts';
import { atAndGrace, nowAndGrace } from '../../store/series/gaps.ts';
import { isFailed } from '../../store/series/reason-sets.ts';

/** The columns that a multirange touches. A column counts even if it is touched in part, so that short ranges show. */
const touchedColumns = (multirange: string) => `
  array(select bound from unnest((
          select range_agg(int4range(first, greatest(past, first + 1)))
          from unnest(${multirange} * tstzmultirange(tstzrange(a.start, a.ending))) r,
          lateral (select floor(extract(epoch from lower(r) - a.start) / a.step)::int as first,
                          ceil(extract(epoch from upper(r) - a.start) / a.step)::int as past) c)) touched,
        unnest(array[lower(touched), upper(touched)]) bound order by bound)`;

/**
 * @param query.range the range to show; null: each series' own tracked range, up to now.
 * @param query.columns the number of columns. It bounds the answer, however many ranges a series has.
 */
export function readBands(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; seriesIds: readonly number[]; range: Range | null; columns: number },
) {
  const { range: shown, ...rest } = query;
  return bands.on(database.pool, { ...rest, startMs: shown?.startMs ?? null, endMs: shown?.endMs ?? null });
}

/** Columns as flat pairs: first, and one past the last. */
const layer = listOf(int4);
const trackedUpToNow = 'tstzmultirange(a.tracked * tstzrange(null, greatest($nowMs, lower(a.tracked))))';

const bands = statement({
  name: 'dashboard-bands',
  text: `
      with measured as materialized (
        select s.*, case when s.untracked_at is null then s.missing else '{}' end as missing_ranges,
               coalesce($startMs, lower(s.tracked)) as start,
               greatest(coalesce($endMs, upper(s.tracked), $nowMs),
                        coalesce($startMs, lower(s.tracked)) + s.period) as ending
        from tidemark.closed_series(${atAndGrace}) s where s.id = any ($seriesIds)
      ), deferred as materialized (
        select d.series_id as id, range_agg(d.parts) as failed_ranges
        from tidemark.deferred_parts(${atAndGrace}, $seriesIds, false) d
        where ${isFailed('d.reason')} group by d.series_id
      ), a as materialized (
        select *, extract(epoch from ending - start) / $columns as step from measured left join deferred using (id)
      )
      select a.id, a.start as "startMs", a.ending as "endMs",
             ${touchedColumns(trackedUpToNow)} as tracked,
             ${touchedColumns('a.covered')} as covered,
             ${touchedColumns('a.confirmed_empty')} as empty,
             ${touchedColumns('a.missing_ranges')} as gap,
             ${touchedColumns(`case when a.blocked_until > $nowMs then a.missing_ranges
               else a.missing_ranges * coalesce(a.failed_ranges, '{}') end`)} as failed
      from a order by a.id`,
  parameters: {
    ...{ ...nowAndGrace, seriesIds: listOf(int4), columns: int4 },
    ...{ startMs: nullable(time), endMs: nullable(time) },
  },
  row: {
    id: int4,
    startMs: time,
    endMs: time,
    tracked: layer,
    covered: layer,
    empty: layer,
    gap: layer,
    failed: layer,
  },
});
