/** The polled lists: how often each is polled, and its status. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import { type PolledList, snapshotDatasets } from '../../model/lists.ts';
import { type Database, inTransaction, timestamp } from '../db/database.ts';
import { giveUpPolls, type ListRow, toPolledList } from './polls.ts';
import { listShape } from './shapes.ts';

export interface TrackedList {
  readonly list: PolledList;
  readonly everyMs: number;
  readonly change: 'created' | 'resumed' | 'changed' | 'unchanged';
}

/**
 * Tracks a list from now on, or changes how often it is polled. A list whose poll failed is polled again at
 * once.
 */
export function trackList(database: Database, list: PolledList, everyMs: number): Promise<TrackedList> {
  return inTransaction(database, async (client) => {
    const found = await client.query<{ every_ms: number; untracked: boolean; decided: boolean }>(
      `select (extract(epoch from every) * 1000)::bigint as every_ms, untracked_at is not null as untracked, decided
       from tidemark.lists where list = $1 and asset is not distinct from $2 for update`,
      [list.dataset, list.asset],
    );
    await startPolling(client, list, everyMs);
    const before = found.rows[0];
    const change =
      before === undefined || !before.decided
        ? 'created'
        : before.untracked
          ? 'resumed'
          : before.every_ms === everyMs
            ? 'unchanged'
            : 'changed';
    return { list, everyMs, change };
  });
}

/** Stops polling a list; stored rows stay. @returns whether it was tracked. Rates are by default. */
export function untrackList(database: Database, list: PolledList, nowMs: EpochMs): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const known = await client.query<{ is_tracked: boolean }>(
      `select untracked_at is null as is_tracked from tidemark.lists
       where list = $1 and asset is not distinct from $2 for update`,
      [list.dataset, list.asset],
    );
    if (!(known.rows[0]?.is_tracked ?? list.dataset === 'rates')) return false;
    await stopPolling(client, list, nowMs);
    return true;
  });
}

/** Sets how often a list is polled, and ends the pause after a failure. Runs within the caller's transaction. */
export async function startPolling(client: pg.PoolClient, list: PolledList, everyMs: number): Promise<void> {
  await client.query(
    `insert into tidemark.lists (list, asset, every) values ($1, $2, $3 * interval '1 millisecond')
     on conflict (list, asset) do update
       set every = excluded.every, untracked_at = null, retry_at = null, decided = true`,
    [list.dataset, list.asset, everyMs],
  );
}

/** Stops polling a list, tracked or not. Runs within the caller's transaction. */
export async function stopPolling(client: pg.PoolClient, list: PolledList, nowMs: EpochMs): Promise<void> {
  const stopped = await client.query<{ id: number }>(
    `insert into tidemark.lists (list, asset, every, untracked_at) values ($1, $2, '5 minutes', $3)
     on conflict (list, asset) do update
       set untracked_at = coalesce(lists.untracked_at, excluded.untracked_at), decided = true
     returning id`,
    [list.dataset, list.asset, timestamp(nowMs)],
  );
  const listId = stopped.rows[0]?.id;
  if (listId !== undefined) await giveUpPolls(client, { listId, nowMs, reason: 'no longer tracked' });
}

/** How often rates are polled: as tracked, or else as configured; 0: never. */
export async function ratesEveryMs(database: Database, configuredMs: number): Promise<number> {
  const result = await database.pool.query<{ every_ms: number }>({
    name: 'rates-every',
    text: `select case when untracked_at is null then (extract(epoch from every) * 1000)::bigint else 0 end as every_ms
           from tidemark.lists where list = 'rates'`,
  });
  return result.rows[0]?.every_ms ?? configuredMs;
}

/**
 * Whether the list was ever tracked or untracked. A list that was only polled to resolve a watch list was
 * not.
 */
export async function isListKnown(database: Database, list: PolledList): Promise<boolean> {
  const result = await database.pool.query(
    'select from tidemark.lists where list = $1 and asset is not distinct from $2 and decided',
    [list.dataset, list.asset],
  );
  return result.rowCount !== 0;
}

export interface ListStatus {
  readonly list: PolledList;
  readonly everyMs: number;
  /** Time, rows and changed rows of the newest complete poll; null: there is none. */
  readonly newestMs: EpochMs | null;
  readonly rows: number | null;
  readonly changed: number | null;
  /** Entries that were listed once, and are no longer. */
  readonly gone: number;
  /** Pages of the open poll; null: none is open. */
  readonly pages: number | null;
  /** Why the newest poll was given up; null: it was not. */
  readonly problem: string | null;
  /** Earliest time of the next poll after a failure; null: as scheduled. */
  readonly retryMs: EpochMs | null;
  /** Rejected rows of the last day. */
  readonly quarantined: number;
}

const goneCounts = snapshotDatasets
  .map((dataset) => {
    const mine = dataset === 'asset_markets' ? ' and d.asset = l.asset' : '';
    const { listed } = listShape(dataset);
    return `when '${dataset}' then (select count(*) from ${listed} d where d.gone_since is not null${mine})`;
  })
  .join(' ');

/** Lists every tracked list except the rates. */
export async function listStatus(database: Database, nowMs: EpochMs): Promise<ListStatus[]> {
  const result = await database.pool.query<Omit<ListStatus, 'list'> & ListRow>(
    `select l.list, l.asset, (extract(epoch from l.every) * 1000)::bigint as "everyMs",
            c.time as "newestMs", c.rows, c.changed, case l.list ${goneCounts} end as gone,
            case when n.completed_at is null and n.given_up_at is null then n.pages end as pages, n.reason as problem,
            case when l.retry_at > $1 then l.retry_at end as "retryMs",
            (select count(*) from tidemark.quarantine q
             where q.dataset = l.list and q.seen_at > $1::timestamptz - interval '1 day') as quarantined
     from tidemark.lists l
     left join lateral (
       select * from tidemark.list_polls p where p.list_id = l.id and p.completed_at is not null
       order by p.begun_at desc limit 1
     ) c on true
     left join lateral (
       select * from tidemark.list_polls p where p.list_id = l.id order by p.begun_at desc limit 1
     ) n on true
     where l.untracked_at is null and l.list <> 'rates'
     order by array_position(array['assets', 'exchanges', 'markets', 'asset_markets'], l.list), l.asset`,
    [timestamp(nowMs)],
  );
  return result.rows.map(({ list, asset, ...status }) => ({
    list: toPolledList({ list, asset }),
    ...status,
  }));
}
