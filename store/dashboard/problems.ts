/**
 * Problems that the dashboard shows: failed windows and requests, blocked series, rows in quarantine, revised
 * values.
 */

import { type EpochMs, minuteMs } from '../../contract/intervals.ts';
import { seriesName } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import { type Database, timestamp } from '../db/database.ts';
import { isUnresolved } from '../ledger/quarantine.ts';
import { type SeriesRow, seriesColumns, toSeriesKey } from '../series/series.ts';

export interface Failure {
  readonly seriesId: number;
  readonly name: string;
  /** Null: the source refuses the whole series. */
  readonly window: Range | null;
  readonly message: string;
  /** Earliest time of the next attempt. */
  readonly retryMs: EpochMs;
}

/**
 * Lists the tracked series that the source refuses, then the failed windows of the other series that will be
 * retried, the newest failures first. Windows of a refused series wait as long as the series does.
 */
export async function readFailures(
  database: Database,
  query: { nowMs: EpochMs; most: number },
): Promise<{ failing: Failure[]; inAll: number }> {
  const result = await database.pool.query<
    SeriesRow & {
      start: EpochMs | null;
      ending: EpochMs | null;
      message: string;
      retry_at: EpochMs;
      in_all: number;
    }
  >({
    name: 'dashboard-failing',
    text: `with failing as (
             select id as series_id, null::tstzrange as range, coalesce(blocked_message, 'refused') as message,
                    blocked_until as retry_at, blocked_until as newest
             from tidemark.series where untracked_at is null and blocked_until > $1
             union all
             select p.series_id, p.range, coalesce(p.message, p.kind, ''), p.retry_at, p.first_at
             from tidemark.pending_windows p join tidemark.series s on s.id = p.series_id
             where p.verdict = 'failed' and not p.of_covered and s.untracked_at is null
               and (s.blocked_until is null or s.blocked_until <= $1)
               -- A failed part of another failed window is shown with it.
               and not exists (select from tidemark.pending_windows whole
                               where whole.series_id = p.series_id and whole.verdict = 'failed' and not whole.of_covered
                                 and whole.range @> p.range and whole.range <> p.range)
           )
           select ${seriesColumns}, lower(f.range) as start, upper(f.range) as ending, f.message, f.retry_at,
                  count(*) over () as in_all
           from failing f join tidemark.series s on s.id = f.series_id
           order by f.range is null desc, f.newest desc, s.id, f.range limit $2`,
    values: [timestamp(query.nowMs), query.most],
  });
  return {
    inAll: result.rows[0]?.in_all ?? 0,
    failing: result.rows.map((row) => ({
      seriesId: row.id,
      name: seriesName(toSeriesKey(row)),
      window: row.start === null || row.ending === null ? null : { startMs: row.start, endMs: row.ending },
      message: row.message,
      retryMs: row.retry_at,
    })),
  };
}

export interface QuarantinedRow {
  readonly dataset: string;
  readonly seriesId: number | null;
  readonly name: string | null;
  readonly seenAtMs: EpochMs;
  readonly reason: string;
  /** The beginning of the row's text. */
  readonly raw: string;
}

const maxRawLength = 500;

export async function readQuarantinedRows(database: Database, most: number): Promise<QuarantinedRow[]> {
  const result = await database.pool.query<
    Omit<SeriesRow, 'id'> & {
      id: number | null;
      of: string;
      seen_at: EpochMs;
      reason: string;
      raw: string;
    }
  >({
    name: 'dashboard-quarantine',
    text: `select ${seriesColumns}, q.dataset as of, q.seen_at, q.reason, left(q.raw, ${maxRawLength}) as raw
           from (select * from tidemark.quarantine order by id desc limit $1) q
           left join tidemark.series s on s.id = q.series_id order by q.id desc`,
    values: [most],
  });
  return result.rows.map(({ id, of, seen_at, reason, raw, ...row }) => ({
    dataset: of,
    seriesId: id,
    name: id === null ? null : seriesName(toSeriesKey({ ...row, id })),
    seenAtMs: seen_at,
    reason,
    raw,
  }));
}

/**
 * Counts the newest rows in quarantine that still have no point for their period. Each row needs a lookup in
 * all chunks of the points, so counting thousands would take too long.
 */
export async function countQuarantined(
  database: Database,
  looked: number,
): Promise<{ rows: number; hasOlder: boolean }> {
  const result = await database.pool.query<{ rows: number; has_older: boolean }>({
    name: 'dashboard-quarantined',
    text: `with newest as materialized (select * from tidemark.quarantine order by id desc limit $1)
           select count(*) as rows,
                  exists (select from tidemark.quarantine where id < (select min(id) from newest)) as has_older
           from newest q left join tidemark.series s on s.id = q.series_id
           where q.series_id is null or ${isUnresolved}`,
    values: [looked],
  });
  const [row] = result.rows;
  return { rows: row?.rows ?? 0, hasOlder: row?.has_older === true };
}

/** Lists the tracked series with revised values, most first. */
export async function readRevisedSeries(
  database: Database,
  most: number,
): Promise<Array<{ seriesId: number; name: string; values: number }>> {
  const result = await database.pool.query<SeriesRow & { revised: number }>({
    name: 'dashboard-revised',
    text: `select ${seriesColumns}, s.revised from tidemark.series s
           where s.untracked_at is null and s.revised > 0 order by s.revised desc, s.id limit $1`,
    values: [most],
  });
  return result.rows.map((row) => ({
    seriesId: row.id,
    name: seriesName(toSeriesKey(row)),
    values: row.revised,
  }));
}

export interface CountedMinute {
  readonly minuteMs: EpochMs;
  readonly lane: string;
  readonly requests: number;
  readonly failed: number;
}

/** Counts requests and failures by minute and lane. @param sinceMs start of a minute. */
export async function countRequests(database: Database, sinceMs: EpochMs): Promise<CountedMinute[]> {
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

/** Counts failed requests by kind of error, the most frequent first. */
export async function countFailedRequests(
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
