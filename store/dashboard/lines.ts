/** Every tracked series as a line of the dashboard's list: from the series' own rows, never from points. */

import { type EpochMs, type Interval, intervalMs } from '../../contract/intervals.ts';
import { longestCandleRangeMs, longestHistoryRangeMs } from '../../contract/limits.ts';
import { type SeriesKey, seriesName } from '../../contract/series.ts';
import { longestRange, type RangeLimits } from '../../planning/windows.ts';
import { type Database, timestamp } from '../database.ts';
import { closedSeries, lengthMsOf, missingRanges, wantedRanges } from '../gaps.ts';
import { longestRanges } from '../longest-ranges.ts';
import { type SeriesRow, seriesColumns, seriesOf } from '../series.ts';

export interface StoredLine {
  readonly id: number;
  readonly name: string;
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs | null;
  readonly wantedMs: number;
  readonly coveredMs: number;
  readonly emptyMs: number;
  readonly missingMs: number;
  readonly failedMs: number;
  readonly awaitingMs: number;
  readonly gaps: number;
  readonly behindMs: number;
  readonly requestsLeft: number;
  readonly requests: number;
  readonly points: number;
  readonly newestMs: EpochMs | null;
  readonly revised: number;
  readonly blocked: string | null;
  readonly version: string;
}

interface Row extends SeriesRow {
  readonly tracked_from: EpochMs;
  readonly tracked_to: EpochMs | null;
  readonly wanted: number;
  readonly covered: number;
  readonly empty: number;
  readonly missing: number;
  readonly failed: number;
  readonly awaiting: number;
  readonly gaps: number;
  readonly behind: number;
  readonly requests_left: number;
  readonly requests: number;
  readonly points: number;
  readonly newest: EpochMs | null;
  readonly revised: number;
  readonly blocked: string | null;
  readonly version: string;
}

/** In order of name. @param limits longest ranges of a request, where they differ from the interface's. */
export async function seriesLines(
  database: Database,
  query: { nowMs: EpochMs; graceMs: number; limits: RangeLimits },
): Promise<StoredLine[]> {
  const windows = windowLengths(query.limits, await longestRanges(database));
  const result = await database.pool.query<Row>({
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
      select ${seriesColumns}, lower(s.tracked) as tracked_from, upper(s.tracked) as tracked_to,
             ${lengthMsOf('s.wanted_ranges')} as wanted,
             ${lengthMsOf('s.wanted_ranges * s.confirmed_empty')} as empty,
             m.missing, m.gaps, m.requests_left,
             ${lengthMsOf('s.wanted_ranges')} - m.missing as covered,
             ceil(${lengthMsOf('s.wanted_ranges - s.before_beginning')}::numeric / w.longest)::bigint as requests,
             case when p.failed is null then 0 else ${lengthMsOf('s.missing_ranges * p.failed')} end as failed,
             case when p.awaiting is null then 0 else ${lengthMsOf('s.missing_ranges * p.awaiting')} end as awaiting,
             case when upper_inf(s.tracked) and upper(s.missing_ranges) = s.closed_up_to
                  then (select extract(epoch from upper(r) - lower(r)) * 1000 from unnest(s.missing_ranges) r
                        order by r desc limit 1)::bigint else 0 end as behind,
             s.points, s.newest, s.revised, stored.xmin::text as version,
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
  return result.rows.map((row) => ({
    id: row.id,
    name: seriesName(seriesOf(row)),
    fromMs: row.tracked_from,
    toMs: row.tracked_to,
    wantedMs: row.wanted,
    coveredMs: row.covered,
    emptyMs: row.empty,
    missingMs: row.missing,
    failedMs: row.failed,
    awaitingMs: row.awaiting,
    gaps: row.gaps,
    behindMs: row.behind,
    requestsLeft: row.requests_left,
    requests: row.requests,
    points: row.points,
    newestMs: row.newest,
    revised: row.revised,
    blocked: row.blocked,
    version: row.version,
  }));
}

/** The longest range of one request, by dataset and interval. */
function windowLengths(limits: RangeLimits, accepted: Awaited<ReturnType<typeof longestRanges>>) {
  const lengthsOf = (dataset: SeriesKey['dataset'], intervals: readonly string[]) =>
    intervals.map((interval) => {
      // Of a series only dataset and interval matter for it.
      const series = { dataset, interval } as unknown as SeriesKey;
      const longestMs = longestRange(series, limits, accepted);
      return { dataset, interval, longestMs: Math.max(longestMs, intervalMs[interval as Interval]) };
    });
  return [
    ...lengthsOf('candles', Object.keys(longestCandleRangeMs)),
    ...lengthsOf('asset_history', Object.keys(longestHistoryRangeMs)),
  ];
}
