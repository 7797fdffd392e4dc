/** The coverage of a range, as columns of a statement that has read the row of a series. */

import { type EpochMs, type Interval, nextPeriodStart, periodStart } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { gridOrigin } from '../../model/rollup-levels.ts';
import { int4, int8, jsonb, nullable, type RowOf, text, time } from '../../store/db/statement.ts';
import { type Coverage, maxMissingRanges } from '../../v2/coverage-header.ts';
import type { SeriesAnswer } from '../market-data.ts';
import { millisecondsOf } from './query.ts';

export type SeriesJson = SeriesAnswer & { readonly coverage: Coverage };

/**
 * Coverage of a known market or asset without any stored point of the interval.
 *
 * @param settledMs periods that ended until then change no more.
 */
export function emptySeries(range: Range, interval: Interval, settledMs: EpochMs): SeriesJson {
  const startMs = nextPeriodStart(range.startMs, interval);
  const closedMs = periodStart(settledMs, interval);
  const untilMs = Math.max(startMs, Math.min(nextPeriodStart(range.endMs, interval), closedMs));
  const missing = startMs < untilMs ? [{ startMs, endMs: untilMs }] : [];
  return { rows: '[]', coverage: { share: missing.length === 0 ? '1' : '0', gaps: missing.length, untilMs, missing } };
}

/**
 * A lateral subquery with the columns of {@link SeriesRow}, after a `covered` column. It counts the periods
 * of the range that have ended, and whose grace time is over: no other period can be covered. Without such
 * periods nothing is missing. Periods that are not visible count as missing. Of very many missing ranges the
 * first ones are listed, and `until` is where the next one begins.
 *
 * Its parameters are {@link coverageParameters}.
 */
export function coverageSubquery(period: string): string {
  const closed = `date_bin(${period}, $now - (select tidemark.grace()), ${gridOrigin})`;
  return `lateral (
    select case when span is null then '1' else trim_scale(trunc(tidemark.share_covered(shown, span),
      4))::text end as share,
           coalesce(lacking.gaps, 0) as gaps,
           coalesce(lacking.more, ${millisecondsOf(`greatest($start, least($end, ${closed}))`)}) as until,
           coalesce(lacking.missing, '[]') as missing
    from (
      select case when least($end, ${closed}) > $start then tstzrange($start, least($end, ${closed})) end as span,
             case when $visibleFrom is null then covered
                  else covered * tstzmultirange(tstzrange($visibleFrom, null)) end as shown
    ) measured left join lateral (
      select count(*)::integer as gaps, min(since) filter (where place > ${maxMissingRanges}) as more,
             jsonb_agg(jsonb_build_array(since, till) order by place) filter (where place <= ${maxMissingRanges}) as
               missing
      from (
        select ${millisecondsOf('lower(gap)')} as since, ${millisecondsOf('upper(gap)')} as till, place
        from unnest(tstzmultirange(span) - shown) with ordinality as u (gap, place)
      ) gap
    ) lacking on not shown @> span
  )`;
}

/** Start and end of the range in whole periods, now, and the time from which periods are visible; null: all are. */
export const coverageParameters = { start: time, end: time, now: time, visibleFrom: nullable(time) };

/** The columns of {@link coverageSubquery}; `until` and both ends of each missing range are in milliseconds. */
export const coverageColumns = 'share, gaps, until, missing';
const coverage = { share: text, gaps: int4, until: int8, missing: jsonb<ReadonlyArray<readonly [EpochMs, EpochMs]>>() };

/** Rows as JSON, and the coverage. */
export const storedRow = { rows: text, ...coverage };
export const derivedRow = { rows: text, derived_from: text, ...coverage };
export type SeriesRow = RowOf<typeof storedRow> & Partial<RowOf<typeof derivedRow>>;

export function withCoverage(row: SeriesRow): SeriesJson {
  const { rows, share, gaps, until, missing, derived_from: derivedFrom } = row;
  const ranges = missing.map(([startMs, endMs]) => ({ startMs, endMs }));
  const coverage = { share, gaps, untilMs: until, missing: ranges };
  return { rows, coverage, ...(derivedFrom !== undefined && { derivedFrom }) };
}
