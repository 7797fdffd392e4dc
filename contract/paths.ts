/** Paths of the interface, relative to a base URL that ends in `/v2` (specification, section 4). */

/** Path templates, in the notation the service's router and the documentation share. */
export const pathTemplates = Object.freeze({
  assets: '/assets',
  asset: '/assets/:id',
  assetHistory: '/assets/:id/history',
  assetMarkets: '/assets/:id/markets',
  /** The overview's spelling of the same operation. */
  assetMarketsAlias: '/assets/:id/market',
  markets: '/markets',
  exchanges: '/exchanges',
  exchange: '/exchanges/:id',
  rates: '/rates',
  rate: '/rates/:id',
  candles: '/candles',
  // Listed in the interface by path only.
  candlesMarket: '/candles/market',
  exchangesAll: '/exchanges/all',
  marketsData: '/markets/data',
  ratesAll: '/rates/all',
});

export type Endpoint = keyof typeof pathTemplates;

/** The endpoint's path with `id` percent-encoded: ids hold parentheses and letters beyond ASCII. */
export function pathOf(endpoint: Endpoint, id?: string): string {
  return pathTemplates[endpoint].replace(':id', () => encodeURIComponent(id ?? ''));
}
