/** What was asked of the source lately, by what came of it. */

import type { EpochMs } from '../contract/intervals.ts';
import { type Database, timestamp } from './database.ts';
import type { LedgerEntry } from './ledger.ts';

export interface RecentRequests {
  /** Requests of the last minute, by lane. */
  readonly lanes: Readonly<Partial<Record<LedgerEntry['lane'], number>>>;
  /** Of those that were answered, by verdict. */
  readonly verdicts: Readonly<Record<string, number>>;
  /** Points that came in the last minute and were not stored before. */
  readonly points: number;
  /** Requests of the last hour that failed, by kind of error. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Reads the ledger's last hour. */
export async function recentRequests(database: Database, nowMs: EpochMs): Promise<RecentRequests> {
  const result = await database.pool.query<{
    lanes: RecentRequests['lanes'];
    verdicts: RecentRequests['verdicts'];
    points: number;
    failures: RecentRequests['failures'];
  }>({
    name: 'recent-requests',
    text: `
      with kinds as (
        select lane, verdict, error is not null as failed, time > $1::timestamptz - interval '1 minute' as lately,
               count(*) as requests, sum(fresh) as points
        from tidemark.fetches
        where time > $1::timestamptz - interval '1 hour'
        group by 1, 2, 3, 4
      )
      select coalesce((select json_object_agg(lane, requests) from (
               select lane, sum(requests) as requests from kinds where lately group by lane) l), '{}') as lanes,
             coalesce((select json_object_agg(verdict, requests) from (
               select verdict, sum(requests) as requests from kinds
               where lately and not failed group by verdict) v), '{}') as verdicts,
             coalesce((select json_object_agg(verdict, requests) from (
               select verdict, sum(requests) as requests from kinds where failed group by verdict) f), '{}') as failures,
             coalesce((select sum(points) from kinds where lately), 0)::bigint as points`,
    values: [timestamp(nowMs)],
  });
  return result.rows[0] ?? { lanes: {}, verdicts: {}, points: 0, failures: {} };
}
