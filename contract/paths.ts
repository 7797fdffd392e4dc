/** Paths of the interface, relative to a base URL that ends in `/v2` (specification, section 4). */

/** Path templates in the notation of the service's router and of the documentation. */
export const pathTemplates = Object.freeze({
  assets: '/assets',
  asset: '/assets/:id',
  assetHistory: '/assets/:id/history',
  assetMarkets: '/assets/:id/markets',
  /** An alternative spelling in the interface's overview. */
  assetMarketsAlias: '/assets/:id/market',
  markets: '/markets',
  exchanges: '/exchanges',
  exchange: '/exchanges/:id',
  rates: '/rates',
  rate: '/rates/:id',
  candles: '/candles',
  // The interface lists these by path only.
  candlesMarket: '/candles/market',
  exchangesAll: '/exchanges/all',
  marketsData: '/markets/data',
  ratesAll: '/rates/all',
});

export type Endpoint = keyof typeof pathTemplates;

/** The endpoint's path with `id` percent-encoded: ids contain parentheses and non-ASCII letters. */
export function pathOf(endpoint: Endpoint, id?: string): string {
  return pathTemplates[endpoint].replace(':id', () => encodeURIComponent(id ?? ''));
}
