/** The requests of one minute, from the ledger. */

import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import type { Database } from '../../store/db/database.ts';
import { int4, int8, nullable, range, statement, text, time } from '../../store/db/statement.ts';
import { seriesNameSql } from '../../store/series/series.ts';
import type { MinuteRequests } from './shapes.ts';

/** @param query.most of the newest, of which the answer has all fields; the counts are of all. */
export async function readRequestsOf(
  database: Database,
  { minute, most }: { minute: EpochMs; most: number },
): Promise<MinuteRequests> {
  const within = { startMs: minute, endMs: minute + minuteMs };
  const counts = await requestCounts.on(database.pool, within);
  return { ...within, counts, requests: await newestRequests.on(database.pool, { ...within, most }) };
}

const within = { startMs: time, endMs: time };

const requestCounts = statement({
  name: 'dashboard-minute-counts',
  isPlannedAnew: true,
  text: `select source, verdict, count(*) as requests from tidemark.fetches
         where time >= $startMs and time < $endMs group by 1, 2 order by 3 desc, 1, 2`,
  parameters: within,
  row: { source: text, verdict: text, requests: int8 },
});

const newestRequests = statement({
  name: 'dashboard-minute-requests',
  isPlannedAnew: true,
  text: `
    select f.time as "timeMs", f.series_id as "seriesId",
           case when s.id is null then f.dataset else ${seriesNameSql} end as name,
           f.range, f.lane, f.verdict, f.status, f.fresh, f.changed, f.rejected,
           f.rejected_for as "rejectedFor", f.duration_ms as "durationMs",
           split_part(f.error, E'\\n', 1) as error, f.body, f.source
    from (select * from tidemark.fetches where time >= $startMs and time < $endMs order by time desc limit $most) f
    left join tidemark.series s on s.id = f.series_id
    order by f.time desc`,
  parameters: { ...within, most: int4 },
  row: {
    ...{ timeMs: time, seriesId: nullable(int4), name: text, range: nullable(range), lane: text, verdict: text },
    ...{
      status: nullable(int4),
      fresh: int4,
      changed: int4,
      rejected: int4,
      rejectedFor: nullable(text),
      durationMs: int4,
      error: nullable(text),
      body: nullable(text),
      source: text,
    },
  },
});
