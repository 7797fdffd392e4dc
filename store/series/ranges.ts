/** Ranges of series: the missing part of requested ranges, tracked or not, and the covered ranges. */

import type { EpochMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { CoveredSeries } from '../../planning/sample.ts';
import type { Database } from '../db/database.ts';
import { int4, int8, listOf, nullable, openRange, range, ranges, rowsOf, statement, time } from '../db/statement.ts';
import { multirangeLengthMs } from './gaps.ts';
import { identity, identityColumns, keyParameters, keyValues } from './series.ts';
import { isAskedOfNext } from './sources.ts';

export interface Missing {
  readonly series: SeriesKey;
  /** Sorted and disjoint. */
  readonly missing: readonly Range[];
  /** Missing ranges that failed or await a second answer, and that no source is asked for yet. Sorted and disjoint. */
  readonly later: readonly Range[];
  /** Time of the last of their retries; null: there are none. */
  readonly lastAtMs: EpochMs | null;
  /** Stored points of the whole series, and the length of its coverage in milliseconds. */
  readonly points: number;
  readonly coveredMs: number;
}

/** Reads the missing ranges, in the order of the requests. @param wanted none of them empty. */
export async function readMissingRanges(
  database: Database,
  wanted: ReadonlyArray<Range & { readonly series: SeriesKey }>,
  nowMs: EpochMs,
): Promise<Missing[]> {
  const rows = await missingRanges.on(database.pool, {
    wanted: wanted.map(({ series, startMs, endMs }, place) => ({
      ...keyValues(series),
      range: { startMs, endMs },
      place,
    })),
    nowMs,
  });
  return rows.map((row, index) => {
    const series = wanted[index]?.series;
    if (series === undefined) throw new Error('a row without its series');
    return { series, ...row };
  });
}

const missingRanges = statement({
  name: 'missing-ranges',
  isPlannedAnew: true,
  text: `
     select coalesce(s.points, 0) as points, gaps.ranges as missing, p.ranges as later,
            case when not isempty(p.ranges) then p.last_at end as "lastAtMs",
            ${multirangeLengthMs('s.covered - s.before_beginning')} as "coveredMs"
     from (select * from $wanted) w
     -- By equality: PostgreSQL looks up no index for "is not distinct from", and compares all with all.
     left join lateral (
       select c.id from tidemark.series c
       where (c.dataset, c.exchange_id, c.base_id, c.quote_id, c.interval)
             = (w.dataset, w.exchange, w.base, w.quote, w.interval)
       union all
       select h.id from tidemark.series h
       where (h.dataset, h.asset_id, h.interval) = (w.dataset, w.asset, w.interval)
         and h.exchange_id is null and h.base_id is null and h.quote_id is null
     ) named on true
     left join tidemark.series s on s.id = named.id
     cross join lateral (select tstzmultirange(w.range) - coalesce(s.covered, '{}') as ranges) gaps
     cross join lateral (
       select coalesce(range_agg(case when s.blocked_until > $nowMs then w.range else p.range end), '{}') * gaps.ranges
                as ranges,
              max(greatest(p.retry_at, s.blocked_until)) as last_at
       from (select) one
       left join tidemark.pending_windows p on p.series_id = s.id and p.retry_at > $nowMs and p.range && gaps.ranges
         and not ${isAskedOfNext}
     ) p
     order by w.place`,
  parameters: { wanted: rowsOf({ ...keyParameters, range, place: int4 }), nowMs: time },
  row: { points: int8, missing: ranges, later: ranges, lastAtMs: nullable(time), coveredMs: int8 },
});

/** The tracked ranges of series. @param seriesIds absent: every tracked series. */
export function readTrackedRanges(database: Database, seriesIds: readonly number[] | undefined) {
  return trackedRanges.on(database.pool, { seriesIds: seriesIds ?? null });
}

const trackedRanges = statement({
  name: 'tracked-ranges',
  isPlannedAnew: true,
  text: `
    select ${identityColumns}, s.tracked from tidemark.series s
    where case when $seriesIds is null then s.untracked_at is null else s.id = any ($seriesIds) end
    order by s.id`,
  parameters: { seriesIds: nullable(listOf(int4)) },
  row: { ...identity, tracked: openRange },
});

/**
 * Reads the covered ranges, except those before the beginning of a series: they were requested by days, one
 * request for years.
 *
 * @param seriesIds absent: every tracked series.
 */
export async function readCoveredRanges(
  database: Database,
  seriesIds: readonly number[] | undefined,
): Promise<CoveredSeries[]> {
  return coveredRanges.on(database.pool, { seriesIds: seriesIds ?? null });
}

const coveredRanges = statement({
  name: 'covered-ranges',
  isPlannedAnew: true,
  text: `
    select ${identityColumns}, s.covered - s.before_beginning as ranges from tidemark.series s
    where case when $seriesIds is null then s.untracked_at is null else s.id = any ($seriesIds) end
      and s.covered - s.before_beginning <> '{}'
    order by s.id`,
  parameters: { seriesIds: nullable(listOf(int4)) },
  row: { ...identity, ranges },
});
