/**
 * Polled lists for the watch list's patterns: their entries and state, and single polls of lists that are not
 * tracked.
 */

import type pg from 'pg';
import { dayMs, type EpochMs, minuteMs } from '../../model/intervals.ts';
import { listNames, lists, type PolledList } from '../../model/lists/index.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { timestamp } from '../db/values.ts';

export interface ListState {
  readonly list: PolledList;
  readonly isTracked: boolean;
  readonly everyMs: number;
  /** When the newest complete poll ended, and its rows; null: there is none. */
  readonly completedMs: EpochMs | null;
  readonly rows: number | null;
  /** Earliest time of the next poll after a failure; null: the newest did not fail. */
  readonly retryMs: EpochMs | null;
}

/** Every list that was ever polled, tracked or untracked, and those that are polled by default. */
export async function readListStates(client: pg.Pool | pg.PoolClient): Promise<ListState[]> {
  const result = await client.query<PolledList & Omit<ListState, 'list'>>(
    `select l.list as dataset, l.asset, l.untracked_at is null as "isTracked",
            (extract(epoch from l.every) * 1000)::bigint as "everyMs", p.completed_at as "completedMs", p.rows,
            l.retry_at as "retryMs"
     from tidemark.lists l
     left join lateral (
       select completed_at, rows from tidemark.list_polls p
       where p.list_id = l.id and p.completed_at is not null order by p.begun_at desc limit 1
     ) p on true
     order by array_position($1::text[], l.list), l.asset`,
    [listNames],
  );
  const states = result.rows.map(({ dataset, asset, ...state }) => ({ list: { dataset, asset }, ...state }));
  const isKnown = (name: string) => states.some(({ list }) => list.dataset === name);
  const others = listNames.filter((name) => lists[name].polled === 'by default' && !isKnown(name));
  return [
    ...states,
    ...others.map((dataset) => ({
      ...{ list: { dataset, asset: null }, isTracked: true, everyMs: lists[dataset].everyMs },
      ...{ completedMs: null, rows: null, retryMs: null },
    })),
  ];
}

/** Whether a list is recent: polled within a day, or, where it is polled less often, within two intervals. */
export function isRecent(
  state: Pick<ListState, 'completedMs' | 'isTracked' | 'everyMs'> | undefined,
  nowMs: EpochMs,
): boolean {
  if (state === undefined || state.completedMs === null) return false;
  const maxAgeMs = Math.max(dayMs, state.isTracked ? 2 * state.everyMs : 0);
  return nowMs - state.completedMs <= maxAgeMs;
}

export interface MarketRow {
  readonly exchange: string;
  readonly base: string;
  readonly quote: string;
  readonly goneSinceMs: EpochMs | null;
}

/** In order of name. */
export async function readListedMarkets(client: pg.Pool | pg.PoolClient): Promise<MarketRow[]> {
  const result = await client.query<MarketRow>(
    `select exchange, base, quote, gone_since as "goneSinceMs" from tidemark.listed_markets
     order by exchange, base, quote`,
  );
  return result.rows;
}

export interface AssetRow {
  readonly asset: string;
  readonly rank: number | null;
  readonly goneSinceMs: EpochMs | null;
}

/** In order of name. */
export async function readListedAssets(client: pg.Pool | pg.PoolClient): Promise<AssetRow[]> {
  const result = await client.query<AssetRow>(
    'select asset, rank, gone_since as "goneSinceMs" from public.assets order by asset',
  );
  return result.rows;
}

/** Interval of an untracked list: the least pause after a failed poll. */
const everyMs = 10 * minuteMs;

/** The open poll of the list `$1` of the asset `$2`. */
const openPoll = `
  select p.id from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id
  where l.list = $1 and l.asset is not distinct from $2 and p.completed_at is null and p.given_up_at is null
  for share of p`;

/**
 * Begins a poll, unless one is open, or was completed within a day. Its pages are requested like those of any
 * other.
 *
 * @param request.isPatient leaves a list alone after a failed poll, for as long as a tracked list.
 * @returns the poll; null: none is needed, or it is not due yet.
 */
export function requestListPoll(
  database: Database,
  request: { list: PolledList; nowMs: EpochMs; isPatient: boolean },
): Promise<number | null> {
  const { list, nowMs, isPatient } = request;
  return inTransaction(database, async (client) => {
    await client.query(
      `insert into tidemark.lists (list, asset, every, untracked_at, decided)
       values ($1, $2, $3 * interval '1 millisecond', $4, false) on conflict do nothing`,
      [list.dataset, list.asset, everyMs, timestamp(nowMs)],
    );
    const id = async () => (await client.query<{ id: number }>(openPoll, [list.dataset, list.asset])).rows[0]?.id;
    // Waits for a transaction that commits the last page: the poll is complete then.
    const open = await id();
    if (open !== undefined) return open;
    await client.query(
      `insert into tidemark.list_polls (list_id, begun_at)
       select l.id, $3 from tidemark.lists l
       where l.list = $1 and l.asset is not distinct from $2
         and (not $4 or l.retry_at is null or l.retry_at <= $3)
         and not exists (select from tidemark.list_polls p
                         where p.list_id = l.id and p.completed_at >= $3::timestamptz - interval '1 day')
       on conflict do nothing`,
      [list.dataset, list.asset, timestamp(nowMs), isPatient],
    );
    return (await id()) ?? null;
  });
}

export interface PollState {
  readonly pollId: number;
  readonly state: 'open' | 'complete' | 'given_up';
  readonly pages: number;
  /** Why it was given up. */
  readonly reason: string | null;
}

/** Reads the state of polls. Unknown polls are left out. */
export async function readPollStates(database: Database, pollIds: readonly number[]): Promise<PollState[]> {
  const result = await database.pool.query<PollState>(
    `select id as "pollId", pages, reason,
            case when completed_at is not null then 'complete' when given_up_at is not null then 'given_up'
                 else 'open' end as state
     from tidemark.list_polls where id = any ($1::bigint[]) order by id`,
    [pollIds],
  );
  return result.rows;
}

/** Outcome of the newest requests for some lists. */
export interface ListFetches {
  /** Failures since the last success. */
  readonly failedInARow: number;
  readonly list: PolledList | null;
  readonly message: string;
}

/** @param lists whose requests count; of the markets of assets all. */
export async function readListFetches(
  database: Database,
  sinceMs: EpochMs,
  lists: readonly PolledList[],
): Promise<ListFetches> {
  const result = await database.pool.query<{
    failed: number;
    dataset: string | null;
    message: string | null;
  }>(
    `with mine as (
       select * from tidemark.fetches where time >= $1 and lane = 'poll' and dataset = any ($2)
     ), failures as (
       select * from mine where error is not null
         and not exists (select from mine m where m.error is null and m.time > mine.time)
     )
     select (select count(*) from failures) as failed,
            (select dataset from failures order by time desc limit 1) as dataset,
            (select error from failures order by time desc limit 1) as message`,
    [timestamp(sinceMs), lists.map(({ dataset }) => dataset)],
  );
  const { failed = 0, dataset = null, message = null } = result.rows[0] ?? {};
  const list = lists.find((one) => one.dataset === dataset) ?? null;
  return { failedInARow: failed, list, message: message ?? '' };
}
