/** The polled lists: how often each is polled, and its status. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import { eachList, type ListName, listNames, lists, type PolledList } from '../../model/lists/index.ts';
import { type Database, inTransaction } from '../db/database.ts';
import {
  bool,
  int4,
  int8,
  listOf,
  nullable,
  oneOf,
  type RowOf,
  rowsOf,
  statement,
  text,
  time,
} from '../db/statement.ts';
import { giveUpPolls } from './polls.ts';

export interface TrackedList {
  readonly list: PolledList;
  readonly everyMs: number;
  readonly change: 'created' | 'resumed' | 'changed' | 'unchanged';
}

const one = { dataset: text, asset: nullable(text) };

const lockList = statement({
  name: 'lock-list',
  text: `
    select (extract(epoch from every) * 1000)::bigint as "everyMs", untracked_at is null as "isTracked",
           decided as "isDecided"
    from tidemark.lists where list = $dataset and asset is not distinct from $asset for update`,
  parameters: one,
  row: { everyMs: int8, isTracked: bool, isDecided: bool },
});

/** Tracks a list from now on, or changes how often it is polled. A list whose poll failed is polled again at once. */
export function trackList(database: Database, list: PolledList, everyMs: number): Promise<TrackedList> {
  return inTransaction(database, async (client) => {
    const [before] = await lockList.on(client, list);
    await startPolling.on(client, { ...list, everyMs });
    const change =
      before === undefined || !before.isDecided
        ? 'created'
        : !before.isTracked
          ? 'resumed'
          : before.everyMs === everyMs
            ? 'unchanged'
            : 'changed';
    return { list, everyMs, change };
  });
}

/** Stops polling a list; stored rows stay. @returns whether it was tracked. */
export function untrackList(database: Database, list: PolledList, nowMs: EpochMs): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const [before] = await lockList.on(client, list);
    if (!(before?.isTracked ?? lists[list.dataset].polled === 'by default')) return false;
    await stopPolling(client, list, nowMs);
    return true;
  });
}

/** Sets how often a list is polled, and ends the pause after a failure. */
export const startPolling = statement({
  name: 'start-polling',
  text: `
    insert into tidemark.lists (list, asset, every) values ($dataset, $asset, $everyMs * interval '1 millisecond')
    on conflict (list, asset) do update
      set every = excluded.every, untracked_at = null, retry_at = null, decided = true`,
  parameters: { ...one, everyMs: int8 },
});

const endPolling = statement({
  name: 'stop-polling',
  text: `
    insert into tidemark.lists (list, asset, every, untracked_at) values ($dataset, $asset, '5 minutes', $nowMs)
    on conflict (list, asset) do update
      set untracked_at = coalesce(lists.untracked_at, excluded.untracked_at), decided = true
    returning id`,
  parameters: { ...one, nowMs: time },
  row: { id: int4 },
});

/** Stops polling a list, tracked or not. Runs within the caller's transaction. */
export async function stopPolling(client: pg.PoolClient, list: PolledList, nowMs: EpochMs): Promise<void> {
  const { id: listId } = await endPolling.one(client, { ...list, nowMs });
  await giveUpPolls(client, { listId, nowMs, reason: 'no longer tracked' });
}

const addDefaultLists = statement({
  name: 'poll-default-lists',
  text: `
    insert into tidemark.lists (list, every, decided)
    select list, every_ms * interval '1 millisecond', false from $lists
    where not exists (select from tidemark.lists l where l.list = lists.list)
    on conflict do nothing`,
  parameters: { lists: rowsOf({ list: text, everyMs: int8 }) },
});

/** Polls the lists that are polled by default, unless somebody has decided about them. */
export async function pollDefaultLists({ pool }: Database): Promise<void> {
  const byDefault = eachList.filter(({ polled }) => polled === 'by default');
  await addDefaultLists.on(pool, { lists: byDefault.map(({ name, everyMs }) => ({ list: name, everyMs })) });
}

const findDecided = statement({
  name: 'find-decided-list',
  text: 'select id from tidemark.lists where list = $dataset and asset is not distinct from $asset and decided',
  parameters: one,
  row: { id: int4 },
});

/**
 * Whether the list was ever tracked or untracked. A list that was only polled by default, or to resolve a watch list,
 * was not.
 */
export async function isListKnown({ pool }: Database, list: PolledList): Promise<boolean> {
  return (await findDecided.on(pool, list)).length > 0;
}

const goneCounts = listNames
  .map((name) => {
    const { askedFor, tables } = lists[name];
    const mine = askedFor === 'asset' ? ' and d.asset = l.asset' : '';
    return (
      `when '${name}' then (select count(*) from tidemark.${tables.listed} d where d.gone_since is not ` +
      `null${mine})`
    );
  })
  .join('\n                       ');

const readStatus = statement({
  name: 'list-status',
  text: `
    select l.list as dataset, l.asset, (extract(epoch from l.every) * 1000)::bigint as "everyMs",
           c.time as "newestMs", c.rows, c.changed,
           case l.list ${goneCounts} end as gone,
           case when n.completed_at is null and n.given_up_at is null then n.pages end as pages, n.reason as problem,
           case when l.retry_at > $nowMs then l.retry_at end as "retryMs",
           (select count(*) from tidemark.quarantine q
            where q.dataset = l.list and q.seen_at > $nowMs - interval '1 day') as quarantined
    from tidemark.lists l
    left join lateral (
      select * from tidemark.list_polls p where p.list_id = l.id and p.completed_at is not null
      order by p.begun_at desc limit 1
    ) c on true
    left join lateral (
      select * from tidemark.list_polls p where p.list_id = l.id order by p.begun_at desc limit 1
    ) n on true
    where l.untracked_at is null
    order by array_position($names, l.list), l.asset`,
  parameters: { nowMs: time, names: listOf(text) },
  row: {
    ...{ dataset: oneOf<ListName>(), asset: nullable(text), everyMs: int8 },
    /** Time, rows and changed rows of the newest complete poll; null: there is none. */
    ...{ newestMs: nullable(time), rows: nullable(int4), changed: nullable(int4) },
    /** Entries that were listed once, and are no longer. */
    gone: int8,
    /** Pages of the open poll; null: none is open. */
    pages: nullable(int4),
    /** Why the newest poll was given up; null: it was not. */
    problem: nullable(text),
    /** Earliest time of the next poll after a failure; null: as scheduled. */
    retryMs: nullable(time),
    /** Rejected rows of the last day. */
    quarantined: int8,
  },
});

export type ListStatus = Omit<RowOf<typeof readStatus.row>, 'dataset' | 'asset'> & { readonly list: PolledList };

/** Lists every tracked list. */
export async function listStatus({ pool }: Database, nowMs: EpochMs): Promise<ListStatus[]> {
  const rows = await readStatus.on(pool, { nowMs, names: listNames });
  return rows.map(({ dataset, asset, ...status }) => ({ list: { dataset, asset }, ...status }));
}
