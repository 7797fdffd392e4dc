/**
 * The parameters and the resource of each endpoint, for validation and for the description.
 */

import { z } from 'zod';
import type { Endpoint } from './paths.ts';
import {
  assetsParameters,
  candlesParameters,
  historyParameters,
  marketsParameters,
  pageParameters,
} from './requests.ts';
import * as served from './served.ts';

export interface EndpointContract {
  readonly summary: string;
  readonly query: z.ZodObject;
  readonly resource: z.ZodType;
  readonly many: boolean;
  /** Whether the response covers a time range and states its known part. */
  readonly ranged: boolean;
  readonly notFound: boolean;
}

const none = z.object({});
const list = { many: true, ranged: false, notFound: false } as const;
const one = { many: false, ranged: false, notFound: true, query: none } as const;
const series = { many: true, ranged: true, notFound: true } as const;

const assetMarkets = {
  ...list,
  notFound: true,
  query: pageParameters,
  resource: served.servedAssetMarket,
  summary: 'Markets on which an asset trades, as base or quote',
} as const;
const markets = {
  ...list,
  query: marketsParameters,
  resource: served.servedMarket,
  summary: 'Markets, by exchange and rank',
} as const;
const exchanges = {
  ...list,
  query: none,
  resource: served.servedExchange,
  summary: 'All exchanges, by rank',
} as const;
const rates = { ...list, query: none, resource: served.servedRate, summary: 'All rates' } as const;
const candles = {
  ...series,
  query: candlesParameters,
  resource: served.servedCandle,
  summary: 'Candles of a market whose periods start in a range',
} as const;

export const endpoints: Readonly<Record<Endpoint, EndpointContract>> = Object.freeze({
  assets: { ...list, query: assetsParameters, resource: served.listedAsset, summary: 'Assets, by rank' },
  asset: { ...one, resource: served.singleAsset, summary: 'One asset' },
  assetHistory: {
    ...series,
    query: historyParameters,
    resource: served.servedHistoryPoint,
    summary: 'Price history of an asset',
  },
  assetMarkets,
  assetMarketsAlias: assetMarkets,
  markets,
  exchanges,
  exchange: { ...one, resource: served.servedExchange, summary: 'One exchange' },
  rates,
  rate: { ...one, resource: served.servedRate, summary: 'One rate' },
  candles,
  candlesMarket: candles,
  exchangesAll: exchanges,
  marketsData: markets,
  ratesAll: rates,
});
