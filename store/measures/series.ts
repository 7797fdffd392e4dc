/** How complete and how fresh the tracked series are, by dataset and interval: from their rows alone, never from points. */

import type { Interval } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { type Database, timestamp } from '../database.ts';
import { closedSeries, type GapReason, missingRanges } from '../gaps.ts';

export interface IntervalMeasures {
  readonly dataset: SeriesKey['dataset'];
  readonly interval: Interval;
  readonly series: number;
  /** Of those, the ones that the source refuses as a whole for now. */
  readonly blocked: number;
  readonly points: number;
  /** Values of closed periods that the source changed, as far as seen. */
  readonly revised: number;
  /** Length of what is tracked, up to the last closed period, of all series together. */
  readonly trackedSeconds: number;
  /**
   * Of the series that is furthest behind among those tracked up to now: from the end of what is covered, or was answered
   * empty and awaits its second answer, to its last closed period. Null: none is tracked up to now.
   */
  readonly lagSeconds: number | null;
  /** Age of the newest point, of the series where it is oldest; null: there are no points. */
  readonly newestAgeSeconds: number | null;
}

/** @param query.nowMs when; @param query.graceMs how long after its end a period may still change. */
export async function measureIntervals(
  database: Database,
  query: { nowMs: number; graceMs: number },
): Promise<IntervalMeasures[]> {
  const result = await database.pool.query<{
    dataset: IntervalMeasures['dataset'];
    interval: Interval;
    series: number;
    blocked: number;
    points: number;
    revised: number;
    tracked: number;
    lag: number | null;
    newest_age: number | null;
  }>({
    name: 'measure-intervals',
    text: `
      with closed as (${closedSeries} where s.untracked_at is null),
      empty as materialized (
        select series_id, max(upper(range)) as up_to from tidemark.pending_windows
        where verdict = 'empty' group by series_id
      ), measured as (
        select s.*, lower(s.tracked) <= $1 and (upper_inf(s.tracked) or upper(s.tracked) > $1) as reaches_now,
               coalesce(s.blocked_until > $1, false) as is_blocked,
               greatest(lower(s.tracked), upper(s.covered), e.up_to) as known_up_to
        from closed s left join empty e on e.series_id = s.id
      )
      select dataset, interval, count(*) as series, count(*) filter (where is_blocked) as blocked,
             sum(points)::bigint as points, sum(revised)::bigint as revised,
             sum(greatest(0, extract(epoch from least(upper(tracked), closed_up_to) - lower(tracked))))::float8 as tracked,
             max(greatest(0, extract(epoch from closed_up_to - known_up_to)))
               filter (where reaches_now and not is_blocked)::float8 as lag,
             max(extract(epoch from $1 - newest)) filter (where reaches_now)::float8 as newest_age
      from measured group by dataset, interval order by dataset, interval`,
    values: [timestamp(query.nowMs), query.graceMs],
  });
  return result.rows.map(({ tracked, lag, newest_age, ...row }) => ({
    ...row,
    trackedSeconds: tracked,
    lagSeconds: lag,
    newestAgeSeconds: newest_age,
  }));
}

export interface GapMeasures {
  readonly dataset: SeriesKey['dataset'];
  readonly interval: Interval;
  readonly reason: GapReason;
  readonly gaps: number;
  readonly seconds: number;
}

/** What is missing, by the reasons that `gaps` gives; without the kinds of which nothing is. */
export async function measureGaps(
  database: Database,
  query: { nowMs: number; graceMs: number },
): Promise<GapMeasures[]> {
  const result = await database.pool.query<GapMeasures>({
    name: 'measure-gaps',
    text: `
      with closed as (${closedSeries} where s.untracked_at is null),
      missing as materialized (
        select s.id, s.dataset, s.interval, coalesce(s.blocked_until > $1, false) as is_blocked,
               ${missingRanges} as gaps
        from closed s
      ), waiting as materialized (
        select series_id, verdict, range_agg(range) as ranges from tidemark.pending_windows
        where not of_covered group by series_id, verdict
      ), waiting_all as (
        select series_id, range_agg(range) as ranges from tidemark.pending_windows
        where not of_covered group by series_id
      ), pieces as (
        select dataset, interval, 'blocked' as reason, gaps as ranges from missing where is_blocked
        union all
        select m.dataset, m.interval, 'not_asked', m.gaps - coalesce(w.ranges, '{}')
        from missing m left join waiting_all w on w.series_id = m.id where not m.is_blocked
        union all
        select m.dataset, m.interval, case w.verdict when 'empty' then 'awaits_second_answer' else w.verdict end,
               m.gaps * w.ranges
        from missing m join waiting w on w.series_id = m.id where not m.is_blocked
      )
      select dataset, interval, reason, count(*) as gaps,
             sum(extract(epoch from upper(gap) - lower(gap)))::float8 as seconds
      from pieces, unnest(ranges) gap group by dataset, interval, reason order by dataset, interval, reason`,
    values: [timestamp(query.nowMs), query.graceMs],
  });
  return result.rows;
}
