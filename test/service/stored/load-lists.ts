/** Snapshots of the simulator's lists, stored as one poll leaves them. */

import { type EpochMs, minuteMs } from '../../../contract/intervals.ts';
import type { SnapshotDataset } from '../../../contract/lists.ts';
import type { Simulator } from '../../../simulator/simulator.ts';
import { type Database, timestamp } from '../../../store/db/database.ts';
import { trackList } from '../../../store/lists/lists.ts';
import { listShape } from '../../../store/lists/shapes.ts';

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

/** Marks one as gone at the source since then. */
export async function markGone(
  database: Database,
  dataset: SnapshotDataset,
  id: string,
  atMs: EpochMs,
): Promise<void> {
  const { listed, key } = listShape(dataset);
  await database.pool.query(`update ${listed} set gone_since = $2 where ${key[0]} = $1`, [
    id,
    timestamp(atMs),
  ]);
}

type Row = Readonly<Record<string, unknown>>;

async function store(
  database: Database,
  dataset: SnapshotDataset,
  rows: readonly Row[],
  atMs: EpochMs,
): Promise<void> {
  const { listed, snapshots, key, values } = listShape(dataset);
  for (const row of rows) {
    const keys = key.map((name) => row[name]);
    const known = await database.pool.query<{ id: number }>(
      `insert into ${listed} (${key.join(', ')}, newest) values (${key.map((_, at) => `$${at + 1}`).join(', ')}, $${key.length + 1})
       on conflict (${key.join(', ')}) do update set newest = excluded.newest, gone_since = null returning id`,
      [...keys, timestamp(atMs)],
    );
    const columns = Object.keys(values);
    await database.pool.query(
      `insert into ${snapshots} (listed_id, time, ${columns.join(', ')})
       values ($1, $2, ${columns.map((_, at) => `$${at + 3}`).join(', ')})`,
      [known.rows[0]?.id, timestamp(atMs), ...columns.map((name) => row[name])],
    );
  }
}

/** Columns that are not named as the fields of their rows. */
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
