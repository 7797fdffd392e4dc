/** The contents of a polled list and their last changes, as text with every digit. */

import type { EpochMs } from '../../model/intervals.ts';
import { type PolledList, snapshotDatasets } from '../../model/lists.ts';
import type { Database } from '../../store/db/database.ts';
import { listShape } from '../../store/lists/shapes.ts';
import type { ListContents } from './shapes.ts';

type Row = ListContents['rows'][number];

/** @param most entries, by rank where the list has one, else by name. */
export async function readListContents(
  database: Database,
  { dataset, asset }: PolledList,
  most: number,
): Promise<ListContents> {
  const snapshot = snapshotDatasets.find((name) => name === dataset);
  if (snapshot === undefined) return readRates(database, most);
  const { listed, snapshots, key, values } = listShape(snapshot);
  const names = Object.keys(values);
  const cells = (of: string) => names.map((name) => `${of}.${name}::text`).join(', ');
  const mine = asset === null ? '$1::text is null' : 'd.asset = $1';
  const order = [...('rank' in values ? ['s.rank nulls last'] : []), ...key.map((name) => `d.${name}`)];
  const result = await database.pool.query<Row & { inAll: number }>(
    `select array[${key.map((name) => `d.${name}`).join(', ')}] as key, array[${cells('s')}] as cells,
            case when b.time is null then null else array[${cells('b')}] end as before,
            s.time as "sinceMs", d."inAll"
     from (select *, count(*) over () as "inAll" from ${listed} d where d.gone_since is null and ${mine}) d
     cross join lateral (select * from ${snapshots} where listed_id = d.id and time <= d.newest and not gone
                         order by time desc limit 1) s
     left join lateral (select * from ${snapshots} where listed_id = d.id and time < s.time and not gone
                        order by time desc limit 1) b on true
     order by ${order.join(', ')} limit $2`,
    [asset, most],
  );
  const gone = await database.pool.query<{ key: string[]; sinceMs: EpochMs }>(
    `select array[${key.map((name) => `d.${name}`).join(', ')}] as key, d.gone_since as "sinceMs"
     from ${listed} d where d.gone_since is not null and ${mine} order by d.gone_since desc limit $2`,
    [asset, most],
  );
  return {
    key,
    columns: names,
    inAll: result.rows[0]?.inAll ?? 0,
    rows: result.rows.map(({ inAll: _, ...row }) => row),
    gone: gone.rows,
  };
}

async function readRates(database: Database, most: number): Promise<ListContents> {
  const result = await database.pool.query<Row & { inAll: number }>(
    `select array[c.currency] as key, array[c.symbol, c.type, s.rate_usd::text] as cells,
            case when b.time is null then null else array[c.symbol, c.type, b.rate_usd::text] end as before,
            s.time as "sinceMs", count(*) over () as "inAll"
     from tidemark.currencies c
     cross join lateral (select time, rate_usd from tidemark.rate_points where currency_id = c.id
                         order by time desc limit 1) s
     left join lateral (select time, rate_usd from tidemark.rate_points where currency_id = c.id and time < s.time
                        order by time desc limit 1) b on true
     where c.gone_since is null order by c.currency limit $1`,
    [most],
  );
  const gone = await database.pool.query<{ key: string[]; sinceMs: EpochMs }>(
    `select array[currency] as key, gone_since as "sinceMs" from tidemark.currencies
     where gone_since is not null order by gone_since desc limit $1`,
    [most],
  );
  return {
    key: ['currency'],
    columns: ['symbol', 'type', 'rate_usd'],
    inAll: result.rows[0]?.inAll ?? 0,
    rows: result.rows.map(({ inAll: _, ...row }) => row),
    gone: gone.rows,
  };
}
