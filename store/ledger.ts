/** The ledger: one row for each request that was made. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import type { PolledDataset } from '../contract/lists.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { Range } from '../planning/ranges.ts';
import type { Lane } from '../planning/windows.ts';
import { type Database, timeRange, timestamp } from './database.ts';
import { dropChunks } from './timescale/extension.ts';

export interface LedgerEntry {
  readonly timeMs: EpochMs;
  readonly dataset: SeriesKey['dataset'] | PolledDataset;
  readonly seriesId: number | null;
  readonly range: Range | null;
  readonly lane: Lane | 'poll';
  /** Which attempt of its job this request was, from 1. */
  readonly attempt: number;
  /** A verdict, or the kind of error. */
  readonly verdict: string;
  /** HTTP status; null when no answer came. */
  readonly status: number | null;
  readonly fresh: number;
  readonly changed: number;
  /** Of the changed, those of closed periods, whose old values are kept; 0 unless given. */
  readonly revised?: number;
  readonly unchanged: number;
  readonly rejected: number;
  /** Size of the decoded body. */
  readonly bytes: number;
  readonly durationMs: number;
  readonly error: string | null;
}

const columns = Object.freeze({
  time: 'timestamptz',
  dataset: 'text',
  series_id: 'int',
  range: 'tstzrange',
  lane: 'text',
  attempt: 'int',
  verdict: 'text',
  status: 'int',
  fresh: 'int',
  changed: 'int',
  revised: 'int',
  unchanged: 'int',
  rejected: 'int',
  bytes: 'bigint',
  duration_ms: 'int',
  error: 'text',
});

/** The insert of rows, to be a part of another statement: its parameters, of {@link ledgerValues}, from `$first` on. */
export function ledgerInsert(first: number): string {
  const names = Object.keys(columns).join(', ');
  const arrays = Object.values(columns).map((type, index) => `$${first + index}::${type}[]`);
  return `insert into tidemark.fetches (${names}) select * from unnest(${arrays.join(', ')})`;
}

/** An array for each column. */
export function ledgerValues(entries: readonly LedgerEntry[]): unknown[][] {
  const rows = entries.map((entry) => [
    timestamp(entry.timeMs),
    entry.dataset,
    entry.seriesId,
    entry.range === null ? null : timeRange(entry.range.startMs, entry.range.endMs),
    entry.lane,
    entry.attempt,
    entry.verdict,
    entry.status,
    entry.fresh,
    entry.changed,
    entry.revised ?? 0,
    entry.unchanged,
    entry.rejected,
    entry.bytes,
    Math.round(entry.durationMs),
    entry.error?.slice(0, 1000),
  ]);
  return Object.keys(columns).map((_, index) => rows.map((row) => row[index]));
}

/** Adds a row, within the caller's transaction when `client` is one. */
export async function recordFetch(client: pg.Pool | pg.PoolClient, entry: LedgerEntry): Promise<void> {
  await client.query({ name: 'record-fetch', text: ledgerInsert(1), values: ledgerValues([entry]) });
}

/** Adds the row of a request that gave nothing to store. */
export async function recordAttemptFailure(
  database: Database,
  failure: {
    readonly timeMs: EpochMs;
    readonly dataset: LedgerEntry['dataset'];
    readonly seriesId: number | null;
    readonly range: Range | null;
    readonly lane: LedgerEntry['lane'];
    readonly attempt: number;
    readonly kind: string;
    readonly status: number | null;
    readonly message: string;
    readonly bytes: number;
    readonly durationMs: number;
  },
): Promise<void> {
  const { kind, message, ...entry } = failure;
  await recordFetch(database.pool, {
    ...entry,
    verdict: kind,
    error: message,
    fresh: 0,
    changed: 0,
    unchanged: 0,
    rejected: 0,
  });
}

/** Requests since `sinceMs`, by lane. */
export async function fetchesSince(
  database: Database,
  sinceMs: EpochMs,
): Promise<Readonly<Record<LedgerEntry['lane'], number>>> {
  const result = await database.pool.query<{ lane: LedgerEntry['lane']; requests: number }>({
    name: 'fetches-since',
    text: 'select lane, count(*) as requests from tidemark.fetches where time > $1 group by lane',
    values: [timestamp(sinceMs)],
  });
  const counts = { refresh: 0, backfill: 0, probe: 0, reread: 0, repair: 0, verify: 0, poll: 0 };
  for (const row of result.rows) counts[row.lane] = row.requests;
  return counts;
}

/** Forgets requests from before `beforeMs`: whole chunks where there are any, for an emptied one would stay. */
export async function pruneLedger(database: Database, beforeMs: EpochMs): Promise<void> {
  await dropChunks(database.pool, 'fetches', timestamp(beforeMs));
  await database.pool.query('delete from tidemark.fetches where time < $1', [timestamp(beforeMs)]);
}

export interface Notice {
  readonly timeMs: EpochMs;
  readonly message: string;
}

/** Of a notice older than this nobody has heard whether it still holds: the work asks again every hour. */
const noticeAgeMs = 24 * 3_600_000;

/** What the source says in place of data, as long as no request succeeded since; null when it says nothing. */
export async function standingNotice(database: Database, nowMs: EpochMs): Promise<Notice | null> {
  const result = await database.pool.query<{ time: EpochMs; error: string }>({
    name: 'standing-notice',
    text: `select time, coalesce(error, '') as error from tidemark.fetches
           where verdict = 'notice' and time > $1 and not exists (
             select from tidemark.fetches later where later.error is null and later.time > fetches.time)
           order by time desc limit 1`,
    values: [timestamp(nowMs - noticeAgeMs)],
  });
  const row = result.rows[0];
  return row === undefined ? null : { timeMs: row.time, message: row.error };
}

/** Whether the newest request was answered with such a notice. */
export async function endsInNotice(database: Database): Promise<boolean> {
  const result = await database.pool.query<{ verdict: string }>(
    'select verdict from tidemark.fetches order by time desc limit 1',
  );
  return result.rows[0]?.verdict === 'notice';
}

/** What became of the requests of some series. */
export interface FetchTally {
  readonly requests: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The failed by kind of error. */
  readonly failures: Readonly<Record<string, number>>;
  /** Points that were not stored before. */
  readonly fresh: number;
  /** Whether the newest of them failed. */
  readonly endsInFailure: boolean;
  readonly lastFailure: { readonly kind: string; readonly message: string } | null;
}

export async function tallyFetches(
  database: Database,
  query: { sinceMs: EpochMs; seriesIds: readonly number[] },
): Promise<FetchTally> {
  const result = await database.pool.query<{
    requests: number;
    succeeded: number;
    fresh: number;
    kind: string | null;
    message: string | null;
    ends_in_failure: boolean | null;
    failures: Record<string, number> | null;
  }>({
    name: 'tally-fetches',
    text: `
      with mine as (
        select * from tidemark.fetches where time >= $1 and series_id = any ($2)
      )
      select count(*) as requests, count(*) filter (where error is null) as succeeded,
             coalesce(sum(fresh), 0)::bigint as fresh,
             (select verdict from mine where error is not null order by time desc limit 1) as kind,
             (select error from mine where error is not null order by time desc limit 1) as message,
             (select error is not null from mine order by time desc limit 1) as ends_in_failure,
             (select json_object_agg(verdict, requests) from (
                select verdict, count(*) as requests from mine where error is not null group by verdict) f) as failures
      from mine`,
    values: [timestamp(query.sinceMs), query.seriesIds],
  });
  const row = result.rows[0];
  if (row === undefined)
    return {
      ...{ requests: 0, succeeded: 0, failed: 0, failures: {}, fresh: 0 },
      ...{ endsInFailure: false, lastFailure: null },
    };
  return {
    requests: row.requests,
    succeeded: row.succeeded,
    failed: row.requests - row.succeeded,
    failures: row.failures ?? {},
    fresh: row.fresh,
    endsInFailure: row.ends_in_failure === true,
    lastFailure: row.kind === null ? null : { kind: row.kind, message: row.message ?? row.kind },
  };
}
