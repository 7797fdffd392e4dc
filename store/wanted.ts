/** What is missing of ranges that are wanted, tracked or not. */

import type { EpochMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { Range } from '../planning/ranges.ts';
import { type Database, timeRange, timestamp } from './database.ts';
import { keyValues } from './series.ts';

export interface WantedRange extends Range {
  readonly series: SeriesKey;
}

export interface Missing {
  readonly series: SeriesKey;
  /** Sorted and disjoint. */
  readonly missing: readonly Range[];
  /** Of that, what is not asked for before a time to come: it failed, or awaits its second answer. Sorted and disjoint. */
  readonly later: readonly Range[];
  /** When the last of it is asked for again; null: there is none. */
  readonly lastAtMs: EpochMs | null;
  /** Stored points of the series, whatever range was asked for, and how much of it is covered, milliseconds. */
  readonly points: number;
  readonly coveredMs: number;
}

/** In the order in which they are asked for. @param wanted none of them empty. */
export async function missingOf(
  database: Database,
  wanted: readonly WantedRange[],
  nowMs: EpochMs,
): Promise<Missing[]> {
  const names = wanted.map(({ series }) => keyValues(series));
  const result = await database.pool.query<{
    place: number;
    starts: number[];
    ends: number[];
    later_starts: number[];
    later_ends: number[];
    last_at: EpochMs | null;
    points: number;
    covered: number;
  }>(
    `select w.place, coalesce(s.points, 0) as points, m.starts, m.ends,
            l.starts as later_starts, l.ends as later_ends, p.last_at,
            coalesce((select sum(extract(epoch from upper(r) - lower(r)) * 1000)::bigint
                      from unnest(s.covered - s.before_beginning) r), 0) as covered
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::tstzrange[])
       with ordinality as w (dataset, exchange_id, base_id, quote_id, asset_id, interval, range, place)
     left join tidemark.series s
       on (s.dataset, s.interval) = (w.dataset, w.interval) and s.exchange_id is not distinct from w.exchange_id
         and s.base_id is not distinct from w.base_id and s.quote_id is not distinct from w.quote_id
         and s.asset_id is not distinct from w.asset_id
     cross join lateral (select tstzmultirange(w.range) - coalesce(s.covered, '{}') as ranges) gaps
     cross join lateral (
       select coalesce(range_agg(case when s.blocked_until > $8 then w.range else p.range end), '{}') * gaps.ranges as ranges,
              max(greatest(p.retry_at, s.blocked_until)) as last_at
       from (select) one
       left join tidemark.pending_windows p on p.series_id = s.id and p.retry_at > $8 and p.range && gaps.ranges
     ) p
     cross join lateral (${startsAndEnds('gaps.ranges')}) m
     cross join lateral (${startsAndEnds('p.ranges')}) l
     order by w.place`,
    [
      ...[0, 1, 2, 3, 4, 5].map((place) => names.map((name) => name[place])),
      wanted.map(({ startMs, endMs }) => timeRange(startMs, endMs)),
      timestamp(nowMs),
    ],
  );
  return result.rows.map((row, index) => {
    const series = wanted[index]?.series;
    if (series === undefined) throw new Error('a row without its series');
    const later = rangesOf(row.later_starts, row.later_ends);
    return {
      ...{ series, missing: rangesOf(row.starts, row.ends), later },
      ...{ lastAtMs: later.length === 0 ? null : row.last_at, points: row.points, coveredMs: row.covered },
    };
  });
}

function startsAndEnds(multirange: string): string {
  const milliseconds = (bound: string) =>
    `coalesce(array_agg(extract(epoch from ${bound}(r)) * 1000 order by r), '{}')::double precision[]`;
  return `select ${milliseconds('lower')} as starts, ${milliseconds('upper')} as ends from unnest(${multirange}) r`;
}

function rangesOf(starts: readonly EpochMs[], ends: readonly EpochMs[]): Range[] {
  return starts.map((startMs, at) => ({ startMs, endMs: ends[at] ?? startMs }));
}
