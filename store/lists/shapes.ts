/**
 * The tables of each list: the key columns, and the value columns whose changes are stored; and the rows of an answer as
 * arrays, one for each column.
 */

import type { SnapshotDataset } from '../../model/lists.ts';
import type { Asset, AssetMarket, Exchange, Market } from '../../v2/resources.ts';

type ColumnType = 'text' | 'bigint' | 'numeric' | 'boolean' | 'timestamptz';

export interface SnapshotShape {
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

const shapes: Readonly<Record<SnapshotDataset, SnapshotShape>> = {
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
  return shapes[dataset];
}

export type SnapshotRow = Asset | Exchange | Market | AssetMarket;

type Value = string | number | boolean | null;

/** The interface's field of a value column: `volumeUsd24Hr` of `volume_usd_24hr`. */
function fieldOf(column: string): string {
  return column.replace(/_(\d*[a-z])/g, (_, start: string) => start.toUpperCase());
}

/**
 * The columns of the rows, key columns first. Of rows with the same key the first counts.
 *
 * @param asset the asset of the markets, which is then the first key column.
 */
export function readColumns(
  dataset: SnapshotDataset,
  asset: string | null,
  rows: readonly SnapshotRow[],
): { readonly count: number; readonly columns: Value[][] } {
  const { keyFields, values } = listShape(dataset);
  const byKey = new Map<string, SnapshotRow>();
  for (const row of rows) {
    const name = JSON.stringify(keyFields.map((field) => valueIn(row, field)));
    if (!byKey.has(name)) byKey.set(name, row);
  }
  const unique = [...byKey.values()];
  const fields = [...keyFields, ...Object.keys(values).map(fieldOf)];
  const columns = fields.map((field) => unique.map((row) => valueIn(row, field)));
  return { count: unique.length, columns: [...assetColumn(asset, unique.length), ...columns] };
}

/**
 * The key columns of invalid rows, so that these entries count as listed. Null where a row does not name its
 * key: then any entry may be missing because of it.
 */
export function readKeys(
  dataset: SnapshotDataset,
  asset: string | null,
  rejected: readonly { readonly raw: string }[],
): Value[][] | null {
  const { keyFields } = listShape(dataset);
  const keys: string[][] = [];
  for (const { raw } of rejected) {
    const row = parseObject(raw);
    const key = keyFields.map((field) => row[field] ?? (field === 'id' ? row.exchangeId : undefined));
    if (!key.every((part) => typeof part === 'string')) return null;
    keys.push(key);
  }
  const columns = keyFields.map((_, place) => keys.map((key) => key[place] ?? ''));
  return [...assetColumn(asset, keys.length), ...columns];
}

function assetColumn(asset: string | null, count: number): string[][] {
  return asset === null ? [] : [Array.from({ length: count }, () => asset)];
}

function valueIn(row: SnapshotRow, field: string): Value {
  return (row as unknown as Readonly<Record<string, Value>>)[field] ?? null;
}

/** A row that was too long was truncated, and is no longer valid JSON. */
function parseObject(raw: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
