/** Paths of the interface, relative to a base URL that ends in `/v2` (specification, section 4). */

import type { DatasetName } from '../model/datasets/index.ts';

/** Path templates in the notation of the service's router and of the documentation. */
export const pathTemplates = Object.freeze({
  assets: '/assets',
  asset: '/assets/:id',
  assetHistory: '/assets/:id/history',
  assetMarkets: '/assets/:id/markets',
  markets: '/markets',
  exchanges: '/exchanges',
  exchange: '/exchanges/:id',
  rates: '/rates',
  rate: '/rates/:id',
  candles: '/candles',
});

export type Endpoint = keyof typeof pathTemplates;

interface Route {
  /** The endpoint's name, or one of its own. */
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly path: string;
}

const aliases: readonly Route[] = [
  // An alternative spelling in the interface's overview.
  { name: 'assetMarketsAlias', endpoint: 'assetMarkets', path: '/assets/:id/market' },
  // The interface lists these only by path and purpose. Each equals the endpoint that it extends.
  { name: 'candlesMarket', endpoint: 'candles', path: '/candles/market' },
  { name: 'exchangesAll', endpoint: 'exchanges', path: '/exchanges/all' },
  { name: 'marketsData', endpoint: 'markets', path: '/markets/data' },
  { name: 'ratesAll', endpoint: 'rates', path: '/rates/all' },
];

/** Every path of the interface, with the endpoint that answers it. */
export const routes: readonly Route[] = [
  ...(Object.keys(pathTemplates) as Endpoint[]).map((endpoint) => ({
    name: endpoint,
    endpoint,
    path: pathTemplates[endpoint],
  })),
  ...aliases,
];

/** Path of the points of a dataset, beside the interface. */
export const pointsPath = (dataset: DatasetName) => `/points/${dataset}`;

/** The endpoint's path with `id` percent-encoded: ids contain parentheses and non-ASCII letters. */
export function pathOf(endpoint: Endpoint, id?: string): string {
  return pathTemplates[endpoint].replace(':id', () => encodeURIComponent(id ?? ''));
}
