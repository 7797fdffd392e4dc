/** Requests by minute and lane, and what failed of them, from the ledger. */

import { type EpochMs, minuteMs } from '../../contract/intervals.ts';
import { type Database, timestamp } from '../database.ts';

export interface CountedMinute {
  readonly minuteMs: EpochMs;
  readonly lane: string;
  readonly requests: number;
  readonly failed: number;
}

/** Minutes from `sinceMs` on, which has to be the start of one. */
export async function requestMinutes(database: Database, sinceMs: EpochMs): Promise<CountedMinute[]> {
  const result = await database.pool.query<{
    minute: EpochMs;
    lane: string;
    requests: number;
    failed: number;
  }>({
    name: 'dashboard-requests',
    text: `select date_bin('${minuteMs / 1000} seconds', time, 'epoch') as minute, lane, count(*) as requests,
                  count(*) filter (where error is not null) as failed
           from tidemark.fetches where time >= $1 group by 1, 2 order by 1, 2`,
    values: [timestamp(sinceMs)],
  });
  return result.rows.map(({ minute, lane, requests, failed }) => ({
    minuteMs: minute,
    lane,
    requests,
    failed,
  }));
}

/** Requests since then that gave nothing to store, by kind, the most frequent first. */
export async function failedRequests(
  database: Database,
  sinceMs: EpochMs,
): Promise<Array<{ kind: string; requests: number; newestMs: EpochMs; message: string }>> {
  const result = await database.pool.query<{
    kind: string;
    requests: number;
    newest: EpochMs;
    message: string;
  }>({
    name: 'dashboard-failed-requests',
    text: `select verdict as kind, count(*) as requests, max(time) as newest, (array_agg(error order by time desc))[1] as message
           from tidemark.fetches where time >= $1 and error is not null group by 1 order by 2 desc, 1`,
    values: [timestamp(sinceMs)],
  });
  return result.rows.map(({ newest, ...row }) => ({ ...row, newestMs: newest }));
}
