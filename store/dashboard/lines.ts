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
import type { SeriesKey } from '../../contract/series.ts';
import { longestRange, type RangeLimits } from '../../planning/windows.ts';
import { type Database, timestamp } from '../db/database.ts';
import { lengthsMs, measuredSeries } from '../series/completeness.ts';
import { seriesNameSql } from '../series/series.ts';
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
  const result = await database.pool.query<StoredLine>({
    name: 'dashboard-lines',
    text: `
      with ${measuredSeries(() => 'true')}
      select s.id, ${seriesNameSql} as name, s.exchange_id as exchange, s.interval,
             date_part('epoch', s.period)::bigint * 1000 as "periodMs", lower(s.tracked) as "fromMs", upper(s.tracked) as "toMs",
             ${lengthsMs.wanted} as "wantedMs", ${lengthsMs.confirmedEmpty} as "emptyMs",
             m.missing as "missingMs", m.gaps, m.requests_left as "requestsLeft",
             ${lengthsMs.wanted} - m.missing as "coveredMs",
             ceil((${lengthsMs.wanted} - ${lengthsMs.beforeBeginning})::numeric / w.longest)::bigint as requests,
             ${lengthsMs.failed} as "failedMs", ${lengthsMs.beyondDepth} as "beyondDepthMs", ${lengthsMs.awaiting} as "awaitingMs",
             case when upper_inf(s.tracked) then m.behind else 0 end as "behindMs",
             s.points, s.newest as "newestMs", s.revised, stored.xmin::text as version,
             case when s.blocked_until > $1 then coalesce(s.blocked_message, 'refused') end as blocked
      from measured s
      join tidemark.series stored on stored.id = s.id
      join unnest($3::text[], $4::text[], $5::bigint[]) as w (dataset, interval, longest)
        on (w.dataset, w.interval) = (s.dataset, s.interval)
      cross join lateral (
        select coalesce(sum(ms), 0)::bigint as missing, count(*) as gaps, coalesce(sum(ceil(ms / w.longest)), 0)::bigint as requests_left,
               coalesce(max(ms) filter (where upper(r) = s.closed_up_to), 0)::bigint as behind
        from unnest(s.missing) r, lateral (select date_part('epoch', upper(r) - lower(r)) * 1000 as ms offset 0) l
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
  return result.rows;
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
