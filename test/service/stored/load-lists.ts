/** Snapshots of the simulator's lists, stored as one poll leaves them. */

import { type EpochMs, minuteMs } from '../../../model/intervals.ts';
import { keyNames, type List } from '../../../model/list.ts';
import { type ListName, lists } from '../../../model/lists/index.ts';
import type { Simulator } from '../../../simulator/simulator.ts';
import type { Database } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';
import { trackList } from '../../../store/lists/lists.ts';

/** Stores assets, exchanges, markets, and the markets of `assetIds`, as of `atMs`. */
export async function loadLists(
  database: Database,
  simulator: Simulator,
  atMs: EpochMs,
  assetIds: readonly string[],
): Promise<void> {
  const { truth } = simulator;
  await store(
    database,
    'assets',
    truth.assets(atMs).map((row) => columnsOf(row, { id: 'asset' })),
    atMs,
  );
  const exchanges = truth.exchanges(atMs).map((row) => columnsOf(row, { id: 'exchange' }));
  await store(database, 'exchanges', exchanges, atMs);
  await store(
    database,
    'markets',
    truth.markets(atMs).map((row) => columnsOf(row)),
    atMs,
  );
  for (const id of assetIds) {
    await trackList(database, { dataset: 'asset_markets', asset: id }, 5 * minuteMs);
    const rows = simulator.truth.assetMarkets(id, atMs);
    const of = rows.map((row) => ({ asset: id, ...columnsOf(row, { exchangeId: 'exchange_name' }) }));
    await store(database, 'asset_markets', of, atMs);
  }
}

export async function markGone(database: Database, dataset: ListName, id: string, atMs: EpochMs): Promise<void> {
  const { key, tables } = lists[dataset];
  await database.pool.query(`update tidemark.${tables.listed} set gone_since = $2 where ${key[0].name} = $1`, [
    id,
    timestamp(atMs),
  ]);
}

type Row = Readonly<Record<string, unknown>>;

async function store(database: Database, dataset: ListName, rows: readonly Row[], atMs: EpochMs): Promise<void> {
  const list: List = lists[dataset];
  const [listed, snapshots] = [list.tables.listed, list.tables.states].map((name) => `tidemark.${name}`);
  const key = keyNames(list);
  const each = `(select jsonb_populate_record(null::${listed}, e) as k, jsonb_populate_record(null::${snapshots}, e) as v
                 from jsonb_array_elements($1::jsonb) e) as of`;
  const given = [JSON.stringify(rows), timestamp(atMs)];
  const columns = list.values.map(({ name }) => name);
  await database.pool.query(
    `insert into ${listed} (${key.join()}, newest) select ${key.map((name) => `(k).${name}`).join()}, $2::timestamptz from ${each}
     on conflict (${key.join()}) do update set newest = excluded.newest, gone_since = null`,
    given,
  );
  await database.pool.query(
    `insert into ${snapshots} (listed_id, time, ${columns.join()})
     select l.id, $2::timestamptz, ${columns.map((name) => `(v).${name}`).join()}
     from ${each} join ${listed} l on ${key.map((name) => `l.${name} = (k).${name}`).join(' and ')}`,
    given,
  );
}

const renamed: Readonly<Record<string, string>> = {
  exchangeId: 'exchange',
  baseId: 'base',
  quoteId: 'quote',
  vwap24Hr: 'vwap_24hr',
};

/** The row of a list as its columns hold it. @param columns names of fields, in place of the usual. */
function columnsOf(row: object, columns: Readonly<Record<string, string>> = {}): Row {
  const names = { ...renamed, ...columns };
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      names[name] ?? name.replace(/24Hr$/, '_24hr').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      name === 'updated' && value !== null ? timestamp(value) : value,
    ]),
  );
}
