/** How much of a range is known, as columns of a statement that has read a series' row. */

import { mostMissingRanges } from '../../contract/coverage-header.ts';
import { type EpochMs, type Interval, nextPeriodStart, periodStart } from '../../contract/intervals.ts';
import type { Range } from '../../planning/ranges.ts';
import { gridOrigin } from '../derived/levels.ts';
import { graceMs } from '../derived/ranges.ts';
import { millisecondsOf } from './query.ts';

/** As the service's interface has it. */
export interface SeriesCoverage {
  readonly share: string;
  readonly gaps: number;
  readonly untilMs: EpochMs;
  readonly missing: readonly Range[];
}

export interface SeriesJson {
  readonly rows: string;
  readonly coverage: SeriesCoverage;
}

/** What is said of a market or an asset that is known, of which nothing is stored for the interval. */
export function nothingStored(range: Range, interval: Interval, nowMs: EpochMs): SeriesJson {
  const startMs = nextPeriodStart(range.startMs, interval);
  const closedMs = periodStart(nowMs - graceMs, interval);
  const untilMs = Math.max(startMs, Math.min(nextPeriodStart(range.endMs, interval), closedMs));
  const missing = startMs < untilMs ? [{ startMs, endMs: untilMs }] : [];
  return {
    rows: '[]',
    coverage: { share: missing.length === 0 ? '1' : '0', gaps: missing.length, untilMs, missing },
  };
}

interface CoverageSql {
  /** Half-open, whole periods. */
  readonly start: string;
  readonly end: string;
  readonly now: string;
  readonly visibleFrom: string;
  readonly period: string;
}

/**
 * A lateral subquery of the columns of {@link CoverageRow}, for a `covered` that stands before it. Counted are the
 * periods of the range that have ended, and for which the time of grace is over: no other can be covered. Where there is
 * none, nothing is missing. What is not shown counts as missing. Of very many missing ranges the first are told, and
 * `until` is where the next one begins.
 */
export function coverageOf({ start, end, now, visibleFrom, period }: CoverageSql): string {
  const closed = `date_bin(${period}, ${now} - interval '${graceMs} milliseconds', ${gridOrigin})`;
  return `lateral (
    select case when span is null then '1' else trim_scale(trunc(tidemark.share_covered(shown, span), 4))::text end as share,
           coalesce(lacking.gaps, 0) as gaps,
           coalesce(lacking.more, ${millisecondsOf(`greatest(${start}, least(${end}, ${closed}))`)}) as until,
           coalesce(lacking.missing, '[]') as missing
    from (
      select case when least(${end}, ${closed}) > ${start} then tstzrange(${start}, least(${end}, ${closed})) end as span,
             case when ${visibleFrom} is null then covered
                  else covered * tstzmultirange(tstzrange(${visibleFrom}, null)) end as shown
    ) measured left join lateral (
      select count(*)::integer as gaps, min(since) filter (where place > ${mostMissingRanges}) as more,
             jsonb_agg(jsonb_build_array(since, till) order by place) filter (where place <= ${mostMissingRanges}) as missing
      from (
        select ${millisecondsOf('lower(gap)')} as since, ${millisecondsOf('upper(gap)')} as till, place
        from unnest(tstzmultirange(span) - shown) with ordinality as u (gap, place)
      ) gap
    ) lacking on not shown @> span
  )`;
}

/** What {@link coverageOf} gives; `until` and both ends of each missing range in milliseconds. */
interface CoverageRow {
  readonly share: string;
  readonly gaps: number;
  readonly until: EpochMs;
  readonly missing: ReadonlyArray<readonly [EpochMs, EpochMs]>;
}

export interface SeriesRow extends CoverageRow {
  readonly rows: string;
}

/** The columns of {@link coverageOf}. */
export const coverageColumns = 'share, gaps, until, missing';

export function seriesJson({ rows, share, gaps, until, missing }: SeriesRow): SeriesJson {
  const ranges = missing.map(([startMs, endMs]) => ({ startMs, endMs }));
  return { rows, coverage: { share, gaps, untilMs: until, missing: ranges } };
}
