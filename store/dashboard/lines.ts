/**
 * The series list of the dashboard: one line for each tracked series, from its own row, never from points.
 */

import {
  candleIntervals,
  type EpochMs,
  historyIntervals,
  type Interval,
  intervalMs,
} from '../../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../../contract/series.ts';
import { longestRange, type RangeLimits } from '../../planning/windows.ts';
import { type Database, timestamp } from '../db/database.ts';
import { closedSeries, missingRanges, multirangeLengthMs, wantedRanges } from '../series/gaps.ts';
import { type SeriesRow, seriesColumns, splitSeriesRow } from '../series/series.ts';
import { readLongestRanges } from '../settings/settings.ts';
import type { StoredLine } from './shapes.ts';

/**
 * Lists the series in order of name. @param limits longest ranges of a request, where they differ from the
 * interface's.
 */
export async function readSeriesLines(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; limits: RangeLimits },
): Promise<StoredLine[]> {
  const windows = maxRequestLengths(query.limits, await readLongestRanges(database));
  const result = await database.pool.query<SeriesRow & Omit<StoredLine, 'id' | 'name'>>({
    name: 'dashboard-lines',
    text: `
      with closed as (${closedSeries} where s.untracked_at is null),
      pending as (
        select p.series_id, coalesce(range_agg(p.range) filter (where p.verdict = 'failed'), '{}') as failed,
               coalesce(range_agg(p.range) filter (where p.verdict = 'empty'), '{}') as awaiting
        from tidemark.pending_windows p where not p.of_covered group by p.series_id
      ), measured as materialized (
        select s.*, ${missingRanges} as missing_ranges, ${wantedRanges} as wanted_ranges
        from closed s
      )
      select ${seriesColumns}, lower(s.tracked) as "fromMs", upper(s.tracked) as "toMs",
             ${multirangeLengthMs('s.wanted_ranges')} as "wantedMs",
             ${multirangeLengthMs('s.wanted_ranges * s.confirmed_empty')} as "emptyMs",
             m.missing as "missingMs", m.gaps, m.requests_left as "requestsLeft",
             ${multirangeLengthMs('s.wanted_ranges')} - m.missing as "coveredMs",
             ceil(${multirangeLengthMs('s.wanted_ranges - s.before_beginning')}::numeric / w.longest)::bigint as requests,
             case when p.failed is null then 0 else ${multirangeLengthMs('s.missing_ranges * p.failed')} end as "failedMs",
             case when p.awaiting is null then 0 else ${multirangeLengthMs('s.missing_ranges * p.awaiting')} end as "awaitingMs",
             case when upper_inf(s.tracked) and upper(s.missing_ranges) = s.closed_up_to
                  then (select extract(epoch from upper(r) - lower(r)) * 1000 from unnest(s.missing_ranges) r
                        order by r desc limit 1)::bigint else 0 end as "behindMs",
             s.points, s.newest as "newestMs", s.revised, stored.xmin::text as version,
             case when s.blocked_until > $1 then coalesce(s.blocked_message, 'refused') end as blocked
      from measured s
      join tidemark.series stored on stored.id = s.id
      join unnest($3::text[], $4::text[], $5::bigint[]) as w (dataset, interval, longest)
        on (w.dataset, w.interval) = (s.dataset, s.interval)
      left join pending p on p.series_id = s.id
      cross join lateral (
        select coalesce(sum(ms), 0)::bigint as missing, count(*) as gaps, coalesce(sum(ceil(ms / w.longest)), 0)::bigint as requests_left
        from unnest(s.missing_ranges) r, lateral (select extract(epoch from upper(r) - lower(r)) * 1000 as ms) l
      ) m
      order by s.dataset desc, s.exchange_id, s.base_id, s.quote_id, s.asset_id, s.period`,
    values: [
      timestamp(query.nowMs),
      query.graceMs,
      windows.map(({ dataset }) => dataset),
      windows.map(({ interval }) => interval),
      windows.map(({ longestMs }) => longestMs),
    ],
  });
  return result.rows.map((row) => {
    const { seriesId, series, ...values } = splitSeriesRow(row);
    return { id: seriesId, name: seriesName(series), ...values };
  });
}

/** The longest range of one request, by dataset and interval. */
function maxRequestLengths(limits: RangeLimits, accepted: Awaited<ReturnType<typeof readLongestRanges>>) {
  const lengthsOf = (dataset: SeriesKey['dataset'], intervals: readonly Interval[]) =>
    intervals.map((interval) => {
      // Only dataset and interval of the series matter.
      const series = { dataset, interval } as unknown as SeriesKey;
      const longestMs = longestRange(series, limits, accepted);
      return { dataset, interval, longestMs: Math.max(longestMs, intervalMs[interval]) };
    });
  return [...lengthsOf('candles', candleIntervals), ...lengthsOf('asset_history', historyIntervals)];
}
