/** Stores the rows of a page that differ from the stored ones, and marks entries that are missing. */

import type pg from 'pg';
import type { EpochMs } from '../../model/intervals.ts';
import type { SnapshotList } from '../../model/lists.ts';
import { isOutageLike } from '../../planning/polls.ts';
import { timestamp } from '../db/database.ts';
import { listShape, readColumns, readKeys, type SnapshotRow, type SnapshotShape } from './shapes.ts';

export interface KeptChanges {
  /** Ids on the page that no earlier page of the poll listed. */
  readonly listed: readonly number[];
  /** Stored rows: of new entries and entries that came back, and of changed ones. */
  readonly fresh: number;
  readonly changed: number;
}

/**
 * Compares values as text: one more trailing zero is a change.
 *
 * @param pollId the poll, whose earlier pages win over a row that comes again, as when rows shift between two
 * pages.
 */
export async function keepChanges(
  client: pg.PoolClient,
  page: { list: SnapshotList; pollId: number; rows: readonly SnapshotRow[]; timeMs: EpochMs },
): Promise<KeptChanges> {
  const { dataset, asset } = page.list;
  const shape = listShape(dataset);
  const { count, columns } = readColumns(dataset, asset, page.rows);
  if (count === 0) return { listed: [], fresh: 0, changed: 0 };
  await client.query({
    name: `list-${dataset}`,
    text: listStatement(shape),
    values: [timestamp(page.timeMs), ...columns.slice(0, shape.key.length)],
  });
  const result = await client.query<{ listed: number[]; fresh: number; changed: number }>({
    name: `keep-${dataset}`,
    text: keepStatement(shape),
    values: [timestamp(page.timeMs), page.pollId, ...columns],
  });
  return result.rows[0] ?? { listed: [], fresh: 0, changed: 0 };
}

/** Ids of the unreadable rows, as far as they were listed before; null: one of them does not name its key. */
export async function findUnreadable(
  client: pg.PoolClient,
  list: SnapshotList,
  rejected: readonly { readonly raw: string }[],
): Promise<number[] | null> {
  if (rejected.length === 0) return [];
  const { listed, key } = listShape(list.dataset);
  const columns = readKeys(list.dataset, list.asset, rejected);
  if (columns === null) return null;
  const result = await client.query<{ id: number }>(
    `select d.id from ${listed} d
     join unnest(${key.map((_, place) => `$${place + 1}::text[]`).join(', ')}) i (${key.join(', ')}) using (${key.join(', ')})`,
    columns,
  );
  return result.rows.map(({ id }) => id);
}

/** Parameters: the time, and the key columns. */
function listStatement({ listed, key }: SnapshotShape): string {
  const arrays = key.map((_, place) => `$${place + 2}::text[]`).join(', ');
  const names = key.join(', ');
  return `
    insert into ${listed} (${names}, newest)
    select ${names}, $1 from unnest(${arrays}) i (${names})
    where not exists (select from ${listed} d where ${key.map((name) => `d.${name} = i.${name}`).join(' and ')})
    order by ${names}
    on conflict do nothing`;
}

/** Parameters: the time, the poll, the key columns, the value columns. */
function keepStatement({ listed, snapshots, key, values }: SnapshotShape): string {
  const names = Object.keys(values);
  const types = [
    ...key.map(() => 'text'),
    ...Object.values(values).map((type) => (type === 'timestamptz' ? 'bigint' : type)),
  ];
  const arrays = types.map((type, place) => `$${place + 3}::${type}[]`).join(', ');
  // UNIX milliseconds, as in the interface.
  const value = (name: string) =>
    values[name] === 'timestamptz'
      ? `timestamptz 'epoch' + i.${name} * interval '1 millisecond' as ${name}`
      : `i.${name}`;
  const differs = names.map((name) => `s.${name}::text is distinct from i.${name}::text`).join(' or ');
  return `
    with incoming as materialized (
      select d.id, d.newest, d.gone_since, d.missed_since, ${names.map(value).join(', ')}
      from unnest(${arrays}) i (${[...key, ...names].join(', ')}) join ${listed} d using (${key.join(', ')})
      where d.id not in (select unnest(p.listed) from tidemark.poll_pages p where p.poll_id = $2)
    ), compared as materialized (
      select i.*, s.time is null or i.gone_since is not null as fresh
      from incoming i
      left join lateral (
        select time, ${names.join(', ')} from ${snapshots}
        where listed_id = i.id and time >= i.newest and not gone order by time desc limit 1
      ) s on true
      where s.time is null or i.gone_since is not null or ${differs}
    ), kept as (
      insert into ${snapshots} (listed_id, time, ${names.join(', ')})
      select id, $1, ${names.join(', ')} from compared
    ), marked as (
      update ${listed} d set newest = $1, missed_since = null, gone_since = null from compared c where d.id = c.id
    ), found as (
      update ${listed} d set missed_since = null from incoming i
      where d.id = i.id and i.missed_since is not null and not exists (select from compared c where c.id = d.id)
    )
    select coalesce((select array_agg(id) from incoming), '{}') as listed,
           (select count(*) from compared where fresh) as fresh,
           (select count(*) from compared where not fresh) as changed`;
}

/**
 * Marks entries that a complete poll does not list. An entry that the complete poll before did not list
 * either is gone, since the first of the two. It stays stored, with a row that says so.
 *
 * @param poll.confirmMs least time between two polls that mark a large part of the list as gone.
 * @returns the number of entries that are gone since this poll.
 */
export async function markMissing(
  client: pg.PoolClient,
  poll: { id: number; list: SnapshotList; timeMs: EpochMs; confirmMs: number },
): Promise<number> {
  const { listed, snapshots } = listShape(poll.list.dataset);
  const { asset } = poll.list;
  const mine = asset === null ? '$2::text is null' : 'd.asset = $2';
  const counted = await client.query<{ listed: number; missing: number[] }>(
    `select count(*) as listed, coalesce(array_agg(d.id) filter (where d.id not in (
              select unnest(p.listed) from tidemark.poll_pages p where p.poll_id = $1)), '{}') as missing
     from ${listed} d where d.gone_since is null and ${mine}`,
    [poll.id, asset],
  );
  const { listed: all = 0, missing = [] } = counted.rows[0] ?? {};
  if (missing.length === 0) return 0;
  const apartMs = isOutageLike(missing.length, all) ? poll.confirmMs : 0;
  const gone = await client.query(
    `with gone as (
       update ${listed} set gone_since = missed_since
       where id = any ($1) and missed_since <= $2::timestamptz - $3 * interval '1 millisecond'
       returning id, gone_since
     )
     insert into ${snapshots} (listed_id, time, gone) select id, gone_since, true from gone`,
    [missing, timestamp(poll.timeMs), apartMs],
  );
  await client.query(`update ${listed} set missed_since = $2 where id = any ($1) and missed_since is null`, [
    missing,
    timestamp(poll.timeMs),
  ]);
  return gone.rowCount ?? 0;
}
