/** The tables of each list: the key columns, and the value columns whose changes are stored. */

import type { SnapshotDataset } from '../../contract/lists.ts';

type ColumnType = 'text' | 'bigint' | 'numeric' | 'boolean' | 'timestamptz';

export interface SnapshotShape {
  readonly dataset: SnapshotDataset;
  /**
   * Table with one row for each entry that was ever listed: its id, its key columns, and its present state.
   */
  readonly listed: string;
  /** Table with one row for each change, by `listed_id` and `time`. */
  readonly snapshots: string;
  readonly key: readonly string[];
  /** The interface's fields of the key, without the asset whose markets are listed. */
  readonly keyFields: readonly string[];
  /** Named like the interface's fields, in snake case. */
  readonly values: Readonly<Record<string, ColumnType>>;
}

const shapes: Readonly<Record<SnapshotDataset, Omit<SnapshotShape, 'dataset'>>> = {
  assets: {
    listed: 'tidemark.listed_assets',
    snapshots: 'tidemark.asset_states',
    key: ['asset'],
    keyFields: ['id'],
    values: {
      rank: 'bigint',
      symbol: 'text',
      name: 'text',
      supply: 'numeric',
      max_supply: 'numeric',
      market_cap_usd: 'numeric',
      volume_usd_24hr: 'numeric',
      price_usd: 'numeric',
      change_percent_24hr: 'numeric',
      vwap_24hr: 'numeric',
    },
  },
  exchanges: {
    listed: 'tidemark.listed_exchanges',
    snapshots: 'tidemark.exchange_states',
    key: ['exchange'],
    keyFields: ['id'],
    values: {
      name: 'text',
      rank: 'bigint',
      percent_total_volume: 'numeric',
      volume_usd: 'numeric',
      trading_pairs: 'bigint',
      socket: 'boolean',
      exchange_url: 'text',
      updated: 'timestamptz',
    },
  },
  markets: {
    listed: 'tidemark.listed_markets',
    snapshots: 'tidemark.market_states',
    key: ['exchange', 'base', 'quote'],
    keyFields: ['exchangeId', 'baseId', 'quoteId'],
    values: {
      rank: 'bigint',
      base_symbol: 'text',
      quote_symbol: 'text',
      price_quote: 'numeric',
      price_usd: 'numeric',
      volume_usd_24hr: 'numeric',
      percent_exchange_volume: 'numeric',
      trades_count_24hr: 'bigint',
      updated: 'timestamptz',
    },
  },
  asset_markets: {
    listed: 'tidemark.listed_asset_markets',
    snapshots: 'tidemark.asset_market_states',
    // The source gives an exchange's display name here, not its id.
    key: ['asset', 'exchange_name', 'base', 'quote'],
    keyFields: ['exchangeId', 'baseId', 'quoteId'],
    values: {
      base_symbol: 'text',
      quote_symbol: 'text',
      volume_usd_24hr: 'numeric',
      price_usd: 'numeric',
      volume_percent: 'numeric',
    },
  },
};

export function listShape(dataset: SnapshotDataset): SnapshotShape {
  return { dataset, ...shapes[dataset] };
}
