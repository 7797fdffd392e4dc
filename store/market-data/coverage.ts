/** How much of a range is known, as columns of a statement that has read a series' row. */

import { gridOrigin } from '../derived/levels.ts';
import { graceMs } from '../derived/ranges.ts';

/** As the service's interface has it. */
export interface SeriesCoverage {
  readonly share: string;
  readonly gaps: number;
}

export interface SeriesJson {
  readonly rows: string;
  readonly coverage: SeriesCoverage;
}

/** What is said of a market or an asset that is known, of which nothing is stored for the interval. */
export const nothingStored: SeriesJson = Object.freeze({
  rows: '[]',
  coverage: Object.freeze({ share: '0', gaps: 1 }),
});

interface CoverageSql {
  /** Half-open, whole periods. */
  readonly start: string;
  readonly end: string;
  readonly now: string;
  readonly visibleFrom: string;
  readonly period: string;
}

/**
 * A lateral subquery of the columns `share` and `gaps`, for a `covered` that stands before it. Counted are the periods
 * of the range that have ended, and for which the time of grace is over: no other can be covered. Where there is none,
 * nothing is missing. What is not shown counts as missing.
 */
export function coverageOf({ start, end, now, visibleFrom, period }: CoverageSql): string {
  const closed = `date_bin(${period}, ${now} - interval '${graceMs} milliseconds', ${gridOrigin})`;
  return `lateral (
    select case when span is null then '1' else trim_scale(trunc(tidemark.share_covered(shown, span), 4))::text end as share,
           case when span is null or shown @> span then 0
                else (select count(*)::integer from unnest(tstzmultirange(span) - shown)) end as gaps
    from (
      select case when least(${end}, ${closed}) > ${start} then tstzrange(${start}, least(${end}, ${closed})) end as span,
             case when ${visibleFrom} is null then covered
                  else covered * tstzmultirange(tstzrange(${visibleFrom}, null)) end as shown
    ) measured
  )`;
}

export interface SeriesRow {
  readonly rows: string;
  readonly share: string;
  readonly gaps: number;
}

export function seriesJson({ rows, share, gaps }: SeriesRow): SeriesJson {
  return { rows, coverage: { share, gaps } };
}
