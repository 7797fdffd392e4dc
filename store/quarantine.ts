/** Rows of answers that failed validation: kept as they came, with the reason, once each. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import { type Database, timeRange, timestamp } from './database.ts';

export interface RejectedRow {
  /** The row's JSON text. */
  readonly raw: string;
  readonly reason: string;
}

export async function quarantineRows(
  client: pg.PoolClient,
  entry: {
    readonly dataset: string;
    readonly seriesId: number | null;
    readonly window: Range | null;
    readonly rows: readonly RejectedRow[];
    readonly seenAtMs: EpochMs;
  },
): Promise<void> {
  if (entry.rows.length === 0) return;
  await client.query(
    `insert into tidemark.quarantine (seen_at, dataset, series_id, range, reason, raw, time)
     select $1, $2, $3, $4, * from unnest($5::text[], $6::text[], $7::timestamptz[])
     on conflict do nothing`,
    [
      timestamp(entry.seenAtMs),
      entry.dataset,
      entry.seriesId,
      entry.window === null ? null : timeRange(entry.window.startMs, entry.window.endMs),
      entry.rows.map((row) => storable(row.reason)),
      entry.rows.map((row) => storable(row.raw)),
      entry.rows.map((row) => timeIn(row.raw)),
    ],
  );
}

/** A list that is polled brings the same bad row with other figures each time. */
const mostOfList = 1000;

/** Keeps of a polled list's rows in quarantine the newest. */
export async function keepNewestRows(client: pg.PoolClient, dataset: string): Promise<void> {
  await client.query(
    `delete from tidemark.quarantine where dataset = $1 and id <= (
       select id from tidemark.quarantine where dataset = $1 order by id desc offset $2 limit 1)`,
    [dataset, mostOfList],
  );
}

/**
 * Rows of the series `s` in quarantine, as SQL: but for those of whose period a point has come, as after a repair at
 * the source.
 */
export const quarantined = `
  (select count(*) from tidemark.quarantine q
   where q.series_id = s.id
     and not exists (select from tidemark.candle_points p where p.series_id = s.id and p.time = q.time)
     and not exists (select from tidemark.asset_history_points p where p.series_id = s.id and p.time = q.time))`;

export interface Quarantined {
  readonly seriesId: number;
  readonly rows: number;
  /** The newest one's. */
  readonly reason: string;
}

/** What {@link quarantined} counts, of the tracked series that have any. */
export async function quarantinedRows(database: Database): Promise<Quarantined[]> {
  const result = await database.pool.query<{ id: number; rows: number; reason: string }>(
    `select id, rows, reason from (
       select s.id, ${quarantined} as rows,
              (select q.reason from tidemark.quarantine q where q.series_id = s.id
               order by q.seen_at desc, q.id desc limit 1) as reason
       from tidemark.series s where s.untracked_at is null
     ) counted
     where rows > 0 order by id`,
  );
  return result.rows.map(({ id, rows, reason }) => ({ seriesId: id, rows, reason }));
}

/** The time that a row gives for itself, as it is written in an answer. */
function timeIn(raw: string): string | null {
  const time = /"(?:period|time)"\s*:\s*(\d{1,15})\s*[,}]/.exec(raw)?.[1];
  return time === undefined || Number(time) > latestTimeMs ? null : timestamp(Number(time));
}

/** The last moment of the year 9999, far from what any calendar has trouble with. */
const latestTimeMs = Date.UTC(9999, 11, 31);

/** PostgreSQL's text holds no NUL. */
function storable(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD');
}
