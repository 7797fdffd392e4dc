/** How the source answers, and how the budget is used, by the ledger: of all workers together. */

import type { EpochMs } from '../../contract/intervals.ts';
import { type Database, timestamp } from '../database.ts';
import { fetchesSince, type LedgerEntry } from '../ledger.ts';

export interface RequestMeasures {
  /** Requests that ended in the last 60 seconds, by what they were for. */
  readonly lastMinute: Readonly<Record<LedgerEntry['lane'], number>>;
  /** When a request was last answered with what it asked for; null: none in the ledger was. */
  readonly successAtMs: EpochMs | null;
  /** Failures since then that say something about the source, and not about what was asked for. */
  readonly failuresSince: number;
}

/** Kinds of failures, as the ledger has them, that any request would have met. */
const sourceTrouble = ['unreachable', 'timeout', 'server_error', 'unexpected', 'notice', 'unauthorized'];
/** More than this say no more. */
const mostCounted = 1000;

/** Reads the ledger from its end, and not further back than to the newest success. */
export async function measureRequests(database: Database, nowMs: EpochMs): Promise<RequestMeasures> {
  const lastMinute = await fetchesSince(database, nowMs - 60_000);
  const result = await database.pool.query<{ success_at: EpochMs | null; failures: number }>({
    name: 'measure-requests',
    text: `
      with newest as materialized (
        select time from tidemark.fetches where error is null order by time desc limit 1
      )
      select (select time from newest) as success_at,
             (select count(*) from (
                select from tidemark.fetches
                where time > coalesce((select time from newest), $1::timestamptz - interval '1 day')
                  and verdict = any ($2) and status is distinct from 403
                limit $3) f) as failures`,
    values: [timestamp(nowMs), sourceTrouble, mostCounted],
  });
  const row = result.rows[0];
  return { lastMinute, successAtMs: row?.success_at ?? null, failuresSince: row?.failures ?? 0 };
}
