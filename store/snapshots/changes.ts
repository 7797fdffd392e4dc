/** Keeps of a page the rows that differ from what is kept, in a single statement. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import type { SnapshotList } from '../../contract/lists.ts';
import { timestamp } from '../database.ts';
import { columnsOf, keysOf, type SnapshotRow } from './rows.ts';
import { type SnapshotShape, shapeOf } from './shapes.ts';

export interface KeptChanges {
  /** Ids of those that the page lists and no page of the poll before it did. */
  readonly listed: readonly number[];
  /** Rows that were kept: of ones never listed before or gone until now, and of ones whose values changed. */
  readonly fresh: number;
  readonly changed: number;
}

/**
 * A value is the same if its text is: a trailing zero more is a change.
 *
 * @param pollId whose earlier pages have the say over a row that comes again, as when rows shift between two pages.
 */
export async function keepChanges(
  client: pg.PoolClient,
  page: { list: SnapshotList; pollId: number; rows: readonly SnapshotRow[]; timeMs: EpochMs },
): Promise<KeptChanges> {
  const { dataset, asset } = page.list;
  const shape = shapeOf(dataset);
  const { count, columns } = columnsOf(dataset, asset, page.rows);
  if (count === 0) return { listed: [], fresh: 0, changed: 0 };
  await client.query({
    name: `list-${dataset}`,
    text: listing(shape),
    values: [timestamp(page.timeMs), ...columns.slice(0, shape.key.length)],
  });
  const result = await client.query<{ listed: number[]; fresh: number; changed: number }>({
    name: `keep-${dataset}`,
    text: keeping(shape),
    values: [timestamp(page.timeMs), page.pollId, ...columns],
  });
  return result.rows[0] ?? { listed: [], fresh: 0, changed: 0 };
}

/** Ids of the rows that could not be read, of those ever listed; null: one of them does not say which it is. */
export async function unreadable(
  client: pg.PoolClient,
  list: SnapshotList,
  rejected: readonly { readonly raw: string }[],
): Promise<number[] | null> {
  if (rejected.length === 0) return [];
  const { listed, key } = shapeOf(list.dataset);
  const columns = keysOf(list.dataset, list.asset, rejected);
  if (columns === null) return null;
  const result = await client.query<{ id: number }>(
    `select d.id from ${listed} d
     join unnest(${key.map((_, place) => `$${place + 1}::text[]`).join(', ')}) i (${key.join(', ')}) using (${key.join(', ')})`,
    columns,
  );
  return result.rows.map(({ id }) => id);
}

/** Parameters: the time, and the columns of the key. */
function listing({ listed, key }: SnapshotShape): string {
  const arrays = key.map((_, place) => `$${place + 2}::text[]`).join(', ');
  const names = key.join(', ');
  return `
    insert into ${listed} (${names}, newest)
    select ${names}, $1 from unnest(${arrays}) i (${names})
    where not exists (select from ${listed} d where ${key.map((name) => `d.${name} = i.${name}`).join(' and ')})
    order by ${names}
    on conflict do nothing`;
}

/** Parameters: the time, the poll, the columns of the key, those of the values. */
function keeping({ listed, snapshots, key, values }: SnapshotShape): string {
  const names = Object.keys(values);
  const types = [
    ...key.map(() => 'text'),
    ...Object.values(values).map((type) => (type === 'timestamptz' ? 'bigint' : type)),
  ];
  const arrays = types.map((type, place) => `$${place + 3}::${type}[]`).join(', ');
  // UNIX milliseconds, as the interface has them.
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
