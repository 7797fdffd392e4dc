/**
 * Polled lists for the watch list's patterns: their entries and state, and single polls of lists that are not tracked.
 */

import type pg from 'pg';
import { dayMs, type EpochMs, minuteMs } from '../../model/intervals.ts';
import { type ListName, listNames, lists, type PolledList } from '../../model/lists/index.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { bool, int4, int8, listOf, nullable, oneOf, type RowOf, statement, text, time } from '../db/statement.ts';

export type ListState = Omit<RowOf<typeof listStates.row>, 'dataset' | 'asset'> & { readonly list: PolledList };

/** Every list that was ever polled, tracked or untracked, and those that are polled by default. */
export async function readListStates(client: pg.Pool | pg.PoolClient): Promise<ListState[]> {
  const states = (await listStates.on(client, { names: listNames })).map(({ dataset, asset, ...state }) => ({
    list: { dataset, asset },
    ...state,
  }));
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

const listStates = statement({
  name: 'polled-list-states',
  text: `
    select l.list as dataset, l.asset, l.untracked_at is null as "isTracked",
           (extract(epoch from l.every) * 1000)::bigint as "everyMs", p.completed_at as "completedMs", p.rows,
           l.retry_at as "retryMs"
    from tidemark.lists l
    left join lateral (
      select completed_at, rows from tidemark.list_polls p
      where p.list_id = l.id and p.completed_at is not null order by p.begun_at desc limit 1
    ) p on true
    order by array_position($names, l.list), l.asset`,
  parameters: { names: listOf(text) },
  row: {
    ...{ dataset: oneOf<ListName>(), asset: nullable(text), isTracked: bool, everyMs: int8 },
    /** When the newest complete poll ended, and its rows; null: there is none. */
    ...{ completedMs: nullable(time), rows: nullable(int4) },
    /** Earliest time of the next poll after a failure; null: the newest did not fail. */
    retryMs: nullable(time),
  },
});

/** Whether a list is recent: polled within a day, or, where it is polled less often, within two intervals. */
export function isRecent(
  state: Pick<ListState, 'completedMs' | 'isTracked' | 'everyMs'> | undefined,
  nowMs: EpochMs,
): boolean {
  if (state === undefined || state.completedMs === null) return false;
  const maxAgeMs = Math.max(dayMs, state.isTracked ? 2 * state.everyMs : 0);
  return nowMs - state.completedMs <= maxAgeMs;
}

export type MarketRow = RowOf<typeof readListedMarkets.row>;

/** In order of name. */
export const readListedMarkets = statement({
  name: 'listed-markets',
  text: `select exchange, base, quote, gone_since as "goneSinceMs" from tidemark.listed_markets
         order by exchange, base, quote`,
  row: { exchange: text, base: text, quote: text, goneSinceMs: nullable(time) },
});

export type AssetRow = RowOf<typeof readListedAssets.row>;

/** In order of name. */
export const readListedAssets = statement({
  name: 'listed-assets',
  text: 'select asset, rank, gone_since as "goneSinceMs" from public.assets order by asset',
  row: { asset: text, rank: nullable(int8), goneSinceMs: nullable(time) },
});

/** Interval of an untracked list: the least pause after a failed poll. */
const everyMs = 10 * minuteMs;

const ofList = { list: text, asset: nullable(text) };
const openPoll = statement({
  name: 'open-poll-of',
  text: `
    select p.id from tidemark.list_polls p join tidemark.lists l on l.id = p.list_id
    where l.list = $list and l.asset is not distinct from $asset and p.completed_at is null and p.given_up_at is null
    for share of p`,
  parameters: ofList,
  row: { id: int8 },
});

const addUntracked = statement({
  name: 'add-untracked-list',
  text: `
    insert into tidemark.lists (list, asset, every, untracked_at, decided)
    values ($list, $asset, interval '${everyMs / 1000} seconds', $now, false) on conflict do nothing`,
  parameters: { ...ofList, now: time },
});

const beginPoll = statement({
  name: 'begin-poll-of',
  text: `
    insert into tidemark.list_polls (list_id, begun_at)
    select l.id, $now from tidemark.lists l
    where l.list = $list and l.asset is not distinct from $asset
      and (not $isPatient or l.retry_at is null or l.retry_at <= $now)
      and not exists (select from tidemark.list_polls p
                      where p.list_id = l.id and p.completed_at >= $now - interval '1 day')
    on conflict do nothing`,
  parameters: { ...ofList, now: time, isPatient: bool },
});

/**
 * Begins a poll, unless one is open, or was completed within a day. Its pages are requested like those of any other.
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
    const of = { list: list.dataset, asset: list.asset };
    await addUntracked.on(client, { ...of, now: nowMs });
    const id = async () => (await openPoll.on(client, of))[0]?.id;
    // Waits for a transaction that commits the last page: the poll is complete then.
    const open = await id();
    if (open !== undefined) return open;
    await beginPoll.on(client, { ...of, now: nowMs, isPatient });
    return (await id()) ?? null;
  });
}

/** Reads the state of polls, and why one was given up. Unknown polls are left out. */
export const readPollStates = statement({
  name: 'poll-states',
  text: `
    select id as "pollId", pages, reason,
           case when completed_at is not null then 'complete' when given_up_at is not null then 'given_up'
                else 'open' end as state
    from tidemark.list_polls where id = any ($pollIds) order by id`,
  parameters: { pollIds: listOf(int8) },
  row: { pollId: int8, pages: int4, reason: nullable(text), state: oneOf<'open' | 'complete' | 'given_up'>() },
});

/**
 * Reads how the newest requests for some lists failed, and how many since the last success.
 *
 * @param lists whose requests count; of the markets of assets all.
 */
export async function readListFetches(database: Database, sinceMs: EpochMs, lists: readonly PolledList[]) {
  const names = lists.map(({ dataset }) => dataset);
  const { failed, dataset, message } = await listFetches.one(database.pool, { since: sinceMs, names });
  const list = lists.find((one) => one.dataset === dataset) ?? null;
  return { failedInARow: failed, list, message: message ?? '' };
}

const listFetches = statement({
  name: 'list-fetches',
  isPlannedAnew: true,
  text: `
    with mine as (
      select * from tidemark.fetches where time >= $since and lane = 'poll' and dataset = any ($names)
    ), failures as (
      select * from mine where error is not null
        and not exists (select from mine m where m.error is null and m.time > mine.time)
    )
    select (select count(*) from failures) as failed,
           (select dataset from failures order by time desc limit 1) as dataset,
           (select error from failures order by time desc limit 1) as message`,
  parameters: { since: time, names: listOf(text) },
  row: { failed: int8, dataset: nullable(text), message: nullable(text) },
});
