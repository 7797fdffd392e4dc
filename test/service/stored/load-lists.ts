/** Snapshots of the simulator's lists, stored as one poll leaves them. */

import { type EpochMs, minuteMs } from '../../../contract/intervals.ts';
import type { SnapshotDataset } from '../../../contract/lists.ts';
import type { Asset, AssetMarket, Exchange, Market } from '../../../contract/resources.ts';
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
  const assets = simulator.truth.assets(atMs);
  const exchanges = simulator.truth.exchanges(atMs);
  const markets = simulator.truth.markets(atMs);
  await store(database, 'assets', assets.map(assetRow), atMs);
  await store(database, 'exchanges', exchanges.map(exchangeRow), atMs);
  await store(database, 'markets', markets.map(marketRow), atMs);
  for (const id of assetIds) {
    await trackList(database, { dataset: 'asset_markets', asset: id }, 5 * minuteMs);
    const rows = simulator.truth.assetMarkets(id, atMs);
    await store(
      database,
      'asset_markets',
      rows.map((row) => assetMarketRow(id, row)),
      atMs,
    );
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

const assetRow = (row: Asset): Row => ({
  asset: row.id,
  rank: row.rank,
  symbol: row.symbol,
  name: row.name,
  supply: row.supply,
  max_supply: row.maxSupply,
  market_cap_usd: row.marketCapUsd,
  volume_usd_24hr: row.volumeUsd24Hr,
  price_usd: row.priceUsd,
  change_percent_24hr: row.changePercent24Hr,
  vwap_24hr: row.vwap24Hr,
});

const exchangeRow = (row: Exchange): Row => ({
  exchange: row.id,
  name: row.name,
  rank: row.rank,
  percent_total_volume: row.percentTotalVolume,
  volume_usd: row.volumeUsd,
  trading_pairs: row.tradingPairs,
  socket: row.socket,
  exchange_url: row.exchangeUrl,
  updated: row.updated === null ? null : timestamp(row.updated),
});

const marketRow = (row: Market): Row => ({
  exchange: row.exchangeId,
  base: row.baseId,
  quote: row.quoteId,
  rank: row.rank,
  base_symbol: row.baseSymbol,
  quote_symbol: row.quoteSymbol,
  price_quote: row.priceQuote,
  price_usd: row.priceUsd,
  volume_usd_24hr: row.volumeUsd24Hr,
  percent_exchange_volume: row.percentExchangeVolume,
  trades_count_24hr: row.tradesCount24Hr,
  updated: row.updated === null ? null : timestamp(row.updated),
});

const assetMarketRow = (asset: string, row: AssetMarket): Row => ({
  asset,
  exchange_name: row.exchangeId,
  base: row.baseId,
  quote: row.quoteId,
  base_symbol: row.baseSymbol,
  quote_symbol: row.quoteSymbol,
  volume_usd_24hr: row.volumeUsd24Hr,
  price_usd: row.priceUsd,
  volume_percent: row.volumePercent,
});
