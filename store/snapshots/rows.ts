/** Rows of an answer as arrays, one for each column, in the order of the list's shape. */

import type { SnapshotDataset } from '../../contract/lists.ts';
import type { Asset, AssetMarket, Exchange, Market } from '../../contract/resources.ts';

export type SnapshotRow = Asset | Exchange | Market | AssetMarket;

type Value = string | number | boolean | null;

/** The values by the names of the interface, in the order of {@link shapeOf}'s columns: key, then values. */
const fields: Readonly<Record<SnapshotDataset, { key: readonly string[]; values: readonly string[] }>> = {
  assets: {
    key: ['id'],
    values: [
      'rank',
      'symbol',
      'name',
      'supply',
      'maxSupply',
      'marketCapUsd',
      'volumeUsd24Hr',
      'priceUsd',
      'changePercent24Hr',
      'vwap24Hr',
    ],
  },
  exchanges: {
    key: ['id'],
    values: [
      'name',
      'rank',
      'percentTotalVolume',
      'volumeUsd',
      'tradingPairs',
      'socket',
      'exchangeUrl',
      'updated',
    ],
  },
  markets: {
    key: ['exchangeId', 'baseId', 'quoteId'],
    values: [
      'rank',
      'baseSymbol',
      'quoteSymbol',
      'priceQuote',
      'priceUsd',
      'volumeUsd24Hr',
      'percentExchangeVolume',
      'tradesCount24Hr',
      'updated',
    ],
  },
  asset_markets: {
    key: ['exchangeId', 'baseId', 'quoteId'],
    values: ['baseSymbol', 'quoteSymbol', 'volumeUsd24Hr', 'priceUsd', 'volumePercent'],
  },
};

/**
 * The columns of the rows, those of the key first; of rows with the same key the first counts.
 *
 * @param asset whose markets they are, and then the first column of the key.
 */
export function columnsOf(
  dataset: SnapshotDataset,
  asset: string | null,
  rows: readonly SnapshotRow[],
): { readonly count: number; readonly columns: Value[][] } {
  const { key, values } = fields[dataset];
  const byKey = new Map<string, SnapshotRow>();
  for (const row of rows) {
    const name = JSON.stringify(key.map((field) => valueIn(row, field)));
    if (!byKey.has(name)) byKey.set(name, row);
  }
  const unique = [...byKey.values()];
  const columns = [...key, ...values].map((field) => unique.map((row) => valueIn(row, field)));
  return { count: unique.length, columns: [...assetColumn(asset, unique.length), ...columns] };
}

/**
 * The columns of the keys that rows without validity name, so that they count as listed; null where one does not name
 * its key, so that anything may be missing because of it.
 */
export function keysOf(
  dataset: SnapshotDataset,
  asset: string | null,
  rejected: readonly { readonly raw: string }[],
): Value[][] | null {
  const keys: string[][] = [];
  for (const { raw } of rejected) {
    const row = objectIn(raw);
    const key = fields[dataset].key.map(
      (field) => row[field] ?? (field === 'id' ? row.exchangeId : undefined),
    );
    if (!key.every((part) => typeof part === 'string')) return null;
    keys.push(key);
  }
  const columns = fields[dataset].key.map((_, place) => keys.map((key) => key[place] ?? ''));
  return [...assetColumn(asset, keys.length), ...columns];
}

function assetColumn(asset: string | null, count: number): string[][] {
  return asset === null ? [] : [Array.from({ length: count }, () => asset)];
}

function valueIn(row: SnapshotRow, field: string): Value {
  return (row as unknown as Readonly<Record<string, Value>>)[field] ?? null;
}

/** A row that is too long was cut, and is no JSON any more. */
function objectIn(raw: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
