/**
 * Problems that the dashboard shows: failed windows and requests, blocked series, rows in quarantine, revised values.
 */

import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import { seriesName } from '../../model/series.ts';
import type { Database } from '../../store/db/database.ts';
import { bool, int4, int8, nullable, type RowOf, range, statement, text, time } from '../../store/db/statement.ts';
import { isFailed } from '../../store/series/reason-sets.ts';
import { identity, identityColumns, seriesNameSql } from '../../store/series/series.ts';
import type { Failure } from './shapes.ts';

/** What a message may call a series `s`, as alternatives of a regular expression. */
const namesOfSeries = String.raw`regexp_replace(
             concat_ws('|', s.exchange_id || ' ' || s.base_id || '/' || s.quote_id,
                       s.base_id || '/' || s.quote_id, s.asset_id,
                       (select string_agg(nullif(symbol, ''), '|') from tidemark.series_sources x
                        where x.series_id = s.id)),
             '[^\w|]', '\\\&', 'g')`;

/** With the parameter `nowMs`. Without the names of series, which would make a cause of each. */
const failing = String.raw`with deferred as materialized (
             select * from tidemark.deferred_parts($nowMs, interval '0', null, false) d
             where ${isFailed('d.reason')} and not d.of_covered and d.parts <> '{}'
           ), listed as (
             select id as series_id, null::tstzrange as range, coalesce(blocked_message, 'refused') as message,
                    blocked_until as retry_at, blocked_until as newest
             from tidemark.series where untracked_at is null and blocked_until > $nowMs
             union all
             select p.series_id, missing.range, coalesce(p.message, p.reason), p.retry_at, p.since
             from deferred p join tidemark.series s on s.id = p.series_id
             -- A window may be covered, or no longer tracked, in part.
             cross join lateral (
               select range_merge((tstzmultirange(s.tracked) - s.covered) * tstzmultirange(p.range)) as range
             ) missing
             where s.untracked_at is null and (s.blocked_until is null or s.blocked_until <= $nowMs)
               and not isempty(missing.range)
               -- A failed part of another failed window is shown with it.
               and not exists (select from deferred whole where whole.series_id = p.series_id
                                 and whole.range @> p.range and whole.range <> p.range)
           ), failing as (
             select l.series_id, l.range, l.retry_at, l.newest,
                    regexp_replace(l.message, '(?<![\w-])(?:' || ${namesOfSeries} || ')(?![\w-])', '…', 'g')
                      as message
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
  const rows = await failingWindows.on(database.pool, query);
  return {
    inAll: rows[0]?.inAll ?? 0,
    failing: rows.map(({ series, inAll: _, ...row }) => ({ ...row, name: seriesName(series) })),
  };
}

const failingWindows = statement({
  name: 'dashboard-failing',
  text: `${failing}
    select ${identityColumns}, f.range as window, f.message, f.retry_at as "retryMs", count(*) over () as "inAll"
    from failing f join tidemark.series s on s.id = f.series_id
    order by f.range is null desc, f.newest desc, s.id, f.range limit $most`,
  parameters: { nowMs: time, most: int4 },
  row: { ...identity, window: nullable(range), message: text, retryMs: time, inAll: int8 },
});

/** The same by cause, the most frequent first. */
export const failureCauses = statement({
  name: 'dashboard-failure-causes',
  text: `${failing}
    select message, count(distinct series_id)::integer as series, count(*)::integer as ranges,
           min(retry_at) as "nextMs", bool_or(range is null) as "isRefused"
    from failing group by message order by count(distinct series_id) desc, count(*) desc, message limit $most`,
  parameters: { nowMs: time, most: int4 },
  row: { message: text, series: int4, ranges: int4, nextMs: time, isRefused: bool },
});

/** Rows in quarantine, the newest first. */
export const newestRejected = statement({
  name: 'dashboard-quarantine',
  text: `
    select q.dataset, s.id as "seriesId", ${seriesNameSql} as name, q.seen_at as "seenAtMs", q.reason, q.raw
    from (select * from tidemark.quarantine order by id desc limit $most) q
    left join tidemark.series s on s.id = q.series_id order by q.id desc`,
  parameters: { most: int4 },
  row: { dataset: text, seriesId: nullable(int4), name: nullable(text), seenAtMs: time, reason: text, raw: text },
});

/** The tracked series with revised values, most first. */
export const mostRevised = statement({
  name: 'dashboard-revised',
  text: `select s.id as "seriesId", ${seriesNameSql} as name, s.revised as values from tidemark.series s
         where s.untracked_at is null and s.revised > 0 order by s.revised desc, s.id limit $most`,
  parameters: { most: int4 },
  row: { seriesId: int4, name: text, values: int8 },
});

/** Requests and failures by minute and lane. `sinceMs` is the start of a minute. */
export const requestMinutes = statement({
  name: 'dashboard-requests',
  text: `
    select date_bin('${minuteMs / 1000} seconds', time, 'epoch') as "minuteMs", lane, count(*) as requests,
           count(*) filter (where error is not null) as failed
    from tidemark.fetches where time >= $sinceMs group by 1, 2 order by 1, 2`,
  parameters: { sinceMs: time },
  row: { minuteMs: time, lane: text, requests: int8, failed: int8 },
});

export type CountedMinute = RowOf<(typeof requestMinutes)['row']>;

/** Failed requests by kind of error, the most frequent first. */
export const failedByKind = statement({
  name: 'dashboard-failed-requests',
  text: `
    select verdict as kind, count(*) as requests, max(time) as "newestMs",
           (array_agg(error order by time desc))[1] as message
    from tidemark.fetches where time >= $sinceMs and error is not null group by 1 order by 2 desc, 1`,
  parameters: { sinceMs: time },
  row: { kind: text, requests: int8, newestMs: time, message: text },
});
