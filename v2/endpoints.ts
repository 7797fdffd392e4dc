/**
 * The endpoints as this service answers them: the parameters, and the resources with exactly the fields and types of
 * the specification's section 2, with the nulls that occur in the field. The schemas in `resources.ts` accept more.
 */

import { z } from 'zod';
import { byDataset, datasetText } from '../model/datasets/index.ts';
import type { Endpoint } from './paths.ts';
import {
  assetsParameters,
  candlesParameters,
  historyParameters,
  marketsParameters,
  pageParameters,
  pointsParameters,
} from './requests.ts';

// PostgreSQL's text form of NUMERIC, which is also a valid JSON number.
const decimal = z
  .string()
  .regex(/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/)
  .describe('A decimal with all its digits, more than a double may hold.');
const figure = z.number().describe('A JSON number with all its digits, more than a double may hold.');
const moment = z.int().describe('UNIX milliseconds.');
const name = z.string();

const assetFields = {
  id: name.describe('Unique identifier of the asset.'),
  symbol: name,
  name,
  supply: decimal.nullable().describe('Available supply for trading.'),
  maxSupply: decimal.nullable().describe('Total quantity of the asset issued.'),
  marketCapUsd: decimal.nullable().describe('Supply multiplied by price.'),
  volumeUsd24Hr: decimal.nullable().describe('Trading volume in USD over the last 24 hours.'),
  priceUsd: decimal.nullable().describe('Volume-weighted price, USD.'),
  changePercent24Hr: decimal.nullable().describe('Change over the last 24 hours, percent.'),
};

const listedAsset = z.strictObject({
  ...assetFields,
  rank: z.string().regex(/^\d+$/).nullable().describe('Position by market capitalisation, from 1; here as text.'),
});

const singleAsset = z.strictObject({
  ...assetFields,
  rank: z.int().nullable().describe('Position by market capitalisation, from 1; here an integer.'),
  vwap24Hr: decimal.nullable().describe('Volume-weighted average price over the last 24 hours.'),
});

const servedHistoryPoint = z.strictObject({
  priceUsd: figure.describe('Price in USD, a JSON number with all its digits.'),
  time: moment.describe('UNIX milliseconds; of a d1 point the beginning of the day that it is the mean of.'),
  date: z.iso.datetime({ precision: 3 }).describe('The same time as ISO 8601 text, UTC.'),
});

const servedAssetMarket = z.strictObject({
  exchangeId: name.describe('Name of the exchange, as the source gives it here.'),
  baseId: name,
  quoteId: name,
  baseSymbol: name,
  quoteSymbol: name,
  volumeUsd24Hr: figure.nullable(),
  priceUsd: figure.nullable(),
  volumePercent: figure.nullable().describe("Null where the asset's own list of markets is not polled."),
});

const servedMarket = z.strictObject({
  exchangeId: name,
  rank: z.int().nullable(),
  baseSymbol: name,
  baseId: name,
  quoteSymbol: name,
  quoteId: name,
  priceQuote: decimal.nullable().describe('Price in units of the quote asset.'),
  priceUsd: decimal.nullable(),
  volumeUsd24Hr: decimal.nullable(),
  percentExchangeVolume: decimal.nullable(),
  tradesCount24Hr: z.int().nullable(),
  updated: moment.nullable(),
});

const servedExchange = z.strictObject({
  id: name,
  name,
  rank: z.int().nullable(),
  percentTotalVolume: decimal.nullable(),
  volumeUsd: decimal.nullable(),
  tradingPairs: z.int().nullable(),
  socket: z.boolean().nullable(),
  exchangeUrl: name.nullable().describe('May lack its scheme.'),
  updated: moment.nullable(),
});

const servedRate = z.strictObject({
  id: name,
  symbol: name,
  currencySymbol: name.nullable(),
  rateUsd: decimal,
  type: name.describe('`crypto` and `fiat` were seen.'),
});

const servedCandle = z.strictObject({
  open: decimal,
  high: decimal,
  low: decimal,
  close: decimal,
  volume: decimal.describe('Amount of the base asset traded in the period.'),
  period: moment.describe('Start of the period, UNIX milliseconds.'),
});

export const servedError = z.strictObject({ error: z.string(), timestamp: moment });

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

export const endpoints: Readonly<Record<Endpoint, EndpointContract>> = Object.freeze({
  assets: { ...list, query: assetsParameters, resource: listedAsset, summary: 'Assets, by rank' },
  asset: { ...one, resource: singleAsset, summary: 'One asset' },
  assetHistory: {
    ...series,
    query: historyParameters,
    resource: servedHistoryPoint,
    summary: 'Price history of an asset',
  },
  assetMarkets: {
    ...list,
    notFound: true,
    query: pageParameters,
    resource: servedAssetMarket,
    summary: 'Markets on which an asset trades, as base or quote',
  },
  markets: { ...list, query: marketsParameters, resource: servedMarket, summary: 'Markets, by exchange and rank' },
  exchanges: { ...list, query: none, resource: servedExchange, summary: 'All exchanges, by rank' },
  exchange: { ...one, resource: servedExchange, summary: 'One exchange' },
  rates: { ...list, query: none, resource: servedRate, summary: 'All rates' },
  rate: { ...one, resource: servedRate, summary: 'One rate' },
  candles: {
    ...series,
    query: candlesParameters,
    resource: servedCandle,
    summary: 'Candles of a market whose periods start in a range',
  },
});

/** The points of each dataset, as its descriptor says. */
export const pointEndpoints = byDataset(({ columns, isOnGrid, timeField }, name): EndpointContract => {
  const fields = columns.map(({ json, about, isOptional }) => {
    const value = decimal.describe(about);
    return [json, isOptional === true ? value.nullable() : value] as const;
  });
  const time = moment.describe(`${isOnGrid ? 'Start of the period' : 'Time of the point'}, UNIX milliseconds.`);
  return {
    ...series,
    query: pointsParameters[name],
    resource: z.strictObject({ ...Object.fromEntries(fields), [timeField]: time }),
    summary: `Points of ${datasetText(name)} whose times are in a range, with decimals as text`,
  };
});
