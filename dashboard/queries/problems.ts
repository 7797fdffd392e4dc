/**
 * Problems that the dashboard shows: failed windows and requests, blocked series, rows in quarantine, revised
 * values.
 */

import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import { seriesName } from '../../model/series.ts';
import { type Database, timestamp } from '../../store/db/database.ts';
import { isUnresolved } from '../../store/ledger/quarantine.ts';
import { isFailed } from '../../store/series/gap-reasons.ts';
import { type SeriesRow, seriesColumns, splitSeriesRow, toSeriesKey } from '../../store/series/series.ts';
import type { FailedRequests, Failure, FailureCause, QuarantinedRow, RevisedSeries } from './shapes.ts';

/** What a message may call a series `s`, as alternatives of a regular expression. */
const namesOfSeries = String.raw`regexp_replace(
             concat_ws('|', s.exchange_id || ' ' || s.base_id || '/' || s.quote_id, s.base_id || '/' || s.quote_id, s.asset_id,
                       (select string_agg(nullif(symbol, ''), '|') from tidemark.series_sources x
                        where x.series_id = s.id)),
             '[^\w|]', '\\\&', 'g')`;

/** $1: now. Without the names of series, which would make a cause of each. */
const failing = String.raw`with listed as (
             select id as series_id, null::tstzrange as range, coalesce(blocked_message, 'refused') as message,
                    blocked_until as retry_at, blocked_until as newest
             from tidemark.series where untracked_at is null and blocked_until > $1
             union all
             select p.series_id, p.range, coalesce(p.message, p.kind, p.reason), p.retry_at, p.first_at
             from tidemark.pending_windows p join tidemark.series s on s.id = p.series_id
             where ${isFailed('p.reason')} and not p.of_covered and s.untracked_at is null
               and (s.blocked_until is null or s.blocked_until <= $1)
               -- A failed part of another failed window is shown with it.
               and not exists (select from tidemark.pending_windows whole
                               where whole.series_id = p.series_id and ${isFailed('whole.reason')}
                                 and not whole.of_covered
                                 and whole.range @> p.range and whole.range <> p.range)
           ), failing as (
             select l.series_id, l.range, l.retry_at, l.newest,
                    regexp_replace(l.message, '(?<![\w-])(?:' || ${namesOfSeries} || ')(?![\w-])', '…', 'g') as message
             from listed l join tidemark.series s on s.id = l.series_id
           )`;

/**
 * Lists the tracked series that the source refuses, then the failed windows of the other series that will be
 * retried, the newest failures first. Windows of a refused series wait as long as the series does.
 */
export async function readFailures(
  database: Database,
  query: { nowMs: EpochMs; most: number },
): Promise<{ failing: Failure[]; inAll: number }> {
  const result = await database.pool.query<
    SeriesRow & Record<'startMs' | 'endMs', EpochMs | null> & { message: string; retryMs: EpochMs; inAll: number }
  >({
    name: 'dashboard-failing',
    text: `${failing}
           select ${seriesColumns}, lower(f.range) as "startMs", upper(f.range) as "endMs", f.message,
                  f.retry_at as "retryMs", count(*) over () as "inAll"
           from failing f join tidemark.series s on s.id = f.series_id
           order by f.range is null desc, f.newest desc, s.id, f.range limit $2`,
    values: [timestamp(query.nowMs), query.most],
  });
  return {
    inAll: result.rows[0]?.inAll ?? 0,
    failing: result.rows.map((row) => {
      const { seriesId, series, startMs, endMs, message, retryMs } = splitSeriesRow(row);
      const window = startMs === null || endMs === null ? null : { startMs, endMs };
      return { seriesId, name: seriesName(series), window, message, retryMs };
    }),
  };
}

/** The same by cause, the most frequent first. */
export async function readFailureCauses(
  database: Database,
  query: { nowMs: EpochMs; most: number },
): Promise<FailureCause[]> {
  const result = await database.pool.query<FailureCause>({
    name: 'dashboard-failure-causes',
    text: `${failing}
           select message, count(distinct series_id)::integer as series, count(*)::integer as ranges,
                  min(retry_at) as "nextMs", bool_or(range is null) as "isRefused"
           from failing group by message order by count(distinct series_id) desc, count(*) desc, message limit $2`,
    values: [timestamp(query.nowMs), query.most],
  });
  return result.rows;
}

const maxRawLength = 500;

export async function readQuarantinedRows(database: Database, most: number): Promise<QuarantinedRow[]> {
  const result = await database.pool.query<
    Omit<SeriesRow, 'id'> & { id: number | null; of: string; seenAtMs: EpochMs; reason: string; raw: string }
  >({
    name: 'dashboard-quarantine',
    text: `select ${seriesColumns}, q.dataset as of, q.seen_at as "seenAtMs", q.reason, left(q.raw, ${maxRawLength}) as raw
           from (select * from tidemark.quarantine order by id desc limit $1) q
           left join tidemark.series s on s.id = q.series_id order by q.id desc`,
    values: [most],
  });
  return result.rows.map(({ id, of, seenAtMs, reason, raw, ...row }) => ({
    dataset: of,
    seriesId: id,
    name: id === null ? null : seriesName(toSeriesKey({ ...row, id })),
    seenAtMs,
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
  const result = await database.pool.query<{ rows: number; hasOlder: boolean }>({
    name: 'dashboard-quarantined',
    text: `with newest as materialized (select * from tidemark.quarantine order by id desc limit $1)
           select count(*) as rows,
                  exists (select from tidemark.quarantine where id < (select min(id) from newest)) as "hasOlder"
           from newest q left join tidemark.series s on s.id = q.series_id
           where q.series_id is null or ${isUnresolved}`,
    values: [looked],
  });
  return result.rows[0] ?? { rows: 0, hasOlder: false };
}

/** Id of the newest row in quarantine; 0: there is none. */
export async function newestQuarantined(database: Database): Promise<number> {
  const result = await database.pool.query<{ id: number }>(
    'select coalesce(max(id), 0) as id from tidemark.quarantine',
  );
  return result.rows[0]?.id ?? 0;
}

/** Lists the tracked series with revised values, most first. */
export async function readRevisedSeries(database: Database, most: number): Promise<RevisedSeries[]> {
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
  const result = await database.pool.query<CountedMinute>({
    name: 'dashboard-requests',
    text: `select date_bin('${minuteMs / 1000} seconds', time, 'epoch') as "minuteMs", lane, count(*) as requests,
                  count(*) filter (where error is not null) as failed
           from tidemark.fetches where time >= $1 group by 1, 2 order by 1, 2`,
    values: [timestamp(sinceMs)],
  });
  return result.rows;
}

/** Counts failed requests by kind of error, the most frequent first. */
export async function countFailedRequests(database: Database, sinceMs: EpochMs): Promise<FailedRequests[]> {
  const result = await database.pool.query<FailedRequests>({
    name: 'dashboard-failed-requests',
    text: `select verdict as kind, count(*) as requests, max(time) as "newestMs", (array_agg(error order by time desc))[1] as message
           from tidemark.fetches where time >= $1 and error is not null group by 1 order by 2 desc, 1`,
    values: [timestamp(sinceMs)],
  });
  return result.rows;
}
