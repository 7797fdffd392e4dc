/** Which lists are polled, and how often. */

import type { EpochMs } from '../../contract/intervals.ts';
import type { PolledList } from '../../contract/lists.ts';
import { type Database, inTransaction, timestamp } from '../database.ts';
import { giveUpPolls } from './polls.ts';

export interface TrackedList {
  readonly list: PolledList;
  readonly everyMs: number;
  readonly change: 'created' | 'resumed' | 'changed' | 'unchanged';
}

/** Follows a list from now on, or changes how often. One that failed is asked for again at once. */
export function trackList(database: Database, list: PolledList, everyMs: number): Promise<TrackedList> {
  return inTransaction(database, async (client) => {
    const found = await client.query<{ every_ms: number; untracked: boolean; decided: boolean }>(
      `select (extract(epoch from every) * 1000)::bigint as every_ms, untracked_at is not null as untracked, decided
       from tidemark.lists where list = $1 and asset is not distinct from $2 for update`,
      [list.dataset, list.asset],
    );
    await client.query(
      `insert into tidemark.lists (list, asset, every) values ($1, $2, $3 * interval '1 millisecond')
       on conflict (list, asset) do update
         set every = excluded.every, untracked_at = null, retry_at = null, decided = true`,
      [list.dataset, list.asset, everyMs],
    );
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

/** Follows a list no more; what is stored of it stays. @returns whether it was followed. */
export function untrackList(database: Database, list: PolledList, nowMs: EpochMs): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const untracked = await client.query<{ id: number }>(
      `update tidemark.lists set untracked_at = $3
       where list = $1 and asset is not distinct from $2 and untracked_at is null returning id`,
      [list.dataset, list.asset, timestamp(nowMs)],
    );
    const id = untracked.rows[0]?.id;
    if (id === undefined) return false;
    await giveUpPolls(client, { listId: id, nowMs, reason: 'not tracked any more' });
    return true;
  });
}

/** Rates are followed unless told otherwise, so that they were can also be said. */
export async function untrackRates(database: Database, nowMs: EpochMs): Promise<void> {
  await database.pool.query(
    `insert into tidemark.lists (list, every, untracked_at) values ('rates', '5 minutes', $1)
     on conflict (list, asset) do update set untracked_at = coalesce(lists.untracked_at, excluded.untracked_at),
       decided = true`,
    [timestamp(nowMs)],
  );
}

/** How often rates are polled: as tracked, else as configured; 0: never. */
export async function ratesEveryMs(database: Database, configuredMs: number): Promise<number> {
  const result = await database.pool.query<{ every_ms: number }>({
    name: 'rates-every',
    text: `select case when untracked_at is null then (extract(epoch from every) * 1000)::bigint else 0 end as every_ms
           from tidemark.lists where list = 'rates'`,
  });
  return result.rows[0]?.every_ms ?? configuredMs;
}

/** Whether the list was ever tracked or untracked. One that was only polled to resolve a watch list was not. */
export async function isListKnown(database: Database, list: PolledList): Promise<boolean> {
  const result = await database.pool.query(
    'select from tidemark.lists where list = $1 and asset is not distinct from $2 and decided',
    [list.dataset, list.asset],
  );
  return result.rowCount !== 0;
}
