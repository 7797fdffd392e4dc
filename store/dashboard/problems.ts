/** What does not go well: windows that failed, series that are refused, rows in quarantine, values that the source changed. */

import type { EpochMs } from '../../contract/intervals.ts';
import { seriesName } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import { type Database, timestamp } from '../database.ts';
import { type SeriesRow, seriesColumns, seriesOf } from '../series.ts';

export interface Failing {
  readonly seriesId: number;
  readonly name: string;
  /** Null: the series as a whole, which the source refuses. */
  readonly window: Range | null;
  readonly message: string;
  /** Not asked for before. */
  readonly retryMs: EpochMs;
}

/**
 * Tracked series that the source refuses as a whole, then the windows of the others that failed and are to be tried
 * again, the newest failures first. Windows of a refused series wait for as long as it does.
 */
export async function failingNow(
  database: Database,
  query: { nowMs: EpochMs; most: number },
): Promise<{ failing: Failing[]; inAll: number }> {
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
      name: seriesName(seriesOf(row)),
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
  /** The row's text, its beginning. */
  readonly raw: string;
}

const mostRaw = 500;

export async function newestQuarantined(database: Database, most: number): Promise<QuarantinedRow[]> {
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
    text: `select ${seriesColumns}, q.dataset as of, q.seen_at, q.reason, left(q.raw, ${mostRaw}) as raw
           from (select * from tidemark.quarantine order by id desc limit $1) q
           left join tidemark.series s on s.id = q.series_id order by q.id desc`,
    values: [most],
  });
  return result.rows.map(({ id, of, seen_at, reason, raw, ...row }) => ({
    dataset: of,
    seriesId: id,
    name: id === null ? null : seriesName(seriesOf({ ...row, id })),
    seenAtMs: seen_at,
    reason,
    raw,
  }));
}

/**
 * Rows in quarantine of whose periods no point came since, among the newest so many. Each is a look-up in every table of
 * points, among all of its chunks: to count thousands would take longer than it tells.
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
           from newest q
           where q.series_id is null
              or not exists (select from tidemark.candle_points p where p.series_id = q.series_id and p.time = q.time)
                 and not exists (select from tidemark.asset_history_points p where p.series_id = q.series_id and p.time = q.time)`,
    values: [looked],
  });
  const [row] = result.rows;
  return { rows: row?.rows ?? 0, hasOlder: row?.has_older === true };
}

/** Tracked series of which the source changed values, most first. */
export async function revisedSeries(
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
    name: seriesName(seriesOf(row)),
    values: row.revised,
  }));
}
