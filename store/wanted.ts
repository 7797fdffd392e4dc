/** What is missing of ranges that are wanted, tracked or not. */

import type { SeriesKey } from '../contract/series.ts';
import type { Range } from '../planning/ranges.ts';
import { type Database, timeRange } from './database.ts';
import { keyValues } from './series.ts';

export interface WantedRange extends Range {
  readonly series: SeriesKey;
}

export interface Missing {
  readonly series: SeriesKey;
  /** Sorted and disjoint. */
  readonly missing: readonly Range[];
  /** Stored points of the series, whatever range was asked for, and how much of it is covered, milliseconds. */
  readonly points: number;
  readonly coveredMs: number;
}

/** In the order in which they are asked for. @param wanted none of them empty. */
export async function missingOf(database: Database, wanted: readonly WantedRange[]): Promise<Missing[]> {
  const names = wanted.map(({ series }) => keyValues(series));
  const result = await database.pool.query<{
    place: number;
    starts: number[];
    ends: number[];
    points: number;
    covered: number;
  }>(
    `select w.place, coalesce(s.points, 0) as points, m.starts, m.ends,
            coalesce((select sum(extract(epoch from upper(r) - lower(r)) * 1000)::bigint
                      from unnest(s.covered - s.before_beginning) r), 0) as covered
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::tstzrange[])
       with ordinality as w (dataset, exchange_id, base_id, quote_id, asset_id, interval, range, place)
     left join tidemark.series s
       on (s.dataset, s.interval) = (w.dataset, w.interval) and s.exchange_id is not distinct from w.exchange_id
         and s.base_id is not distinct from w.base_id and s.quote_id is not distinct from w.quote_id
         and s.asset_id is not distinct from w.asset_id
     cross join lateral (
       select coalesce(array_agg(extract(epoch from lower(r)) * 1000 order by r), '{}')::double precision[] as starts,
              coalesce(array_agg(extract(epoch from upper(r)) * 1000 order by r), '{}')::double precision[] as ends
       from unnest(tstzmultirange(w.range) - coalesce(s.covered, '{}')) r
     ) m
     order by w.place`,
    [
      ...[0, 1, 2, 3, 4, 5].map((place) => names.map((name) => name[place])),
      wanted.map(({ startMs, endMs }) => timeRange(startMs, endMs)),
    ],
  );
  return result.rows.map(({ starts, ends, points, covered }, index) => {
    const series = wanted[index]?.series;
    if (series === undefined) throw new Error('a row without its series');
    const missing = starts.map((startMs, at) => ({ startMs, endMs: ends[at] ?? startMs }));
    return { series, missing, points, coveredMs: covered };
  });
}
