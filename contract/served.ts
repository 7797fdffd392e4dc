/**
 * The resources as this service sends them: exactly the fields and types of the specification's section 2, with the nulls
 * that occur in the field. The schemas in `resources.ts` accept more.
 */

import { z } from 'zod';

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

export const listedAsset = z.strictObject({
  ...assetFields,
  rank: z
    .string()
    .regex(/^\d+$/)
    .nullable()
    .describe('Position by market capitalisation, from 1; here as text.'),
});

export const singleAsset = z.strictObject({
  ...assetFields,
  rank: z.int().nullable().describe('Position by market capitalisation, from 1; here an integer.'),
  vwap24Hr: decimal.nullable().describe('Volume-weighted average price over the last 24 hours.'),
});

export const servedHistoryPoint = z.strictObject({
  priceUsd: figure.describe('Price in USD, a JSON number with all its digits.'),
  time: moment.describe('UNIX milliseconds; of a d1 point the beginning of the day that it is the mean of.'),
});

export const servedAssetMarket = z.strictObject({
  exchangeId: name.describe('Name of the exchange, as the source gives it here.'),
  baseId: name,
  quoteId: name,
  baseSymbol: name,
  quoteSymbol: name,
  volumeUsd24Hr: figure.nullable(),
  priceUsd: figure.nullable(),
  volumePercent: figure.nullable().describe("Null where the asset's own list of markets is not polled."),
});

export const servedMarket = z.strictObject({
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

export const servedExchange = z.strictObject({
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

export const servedRate = z.strictObject({
  id: name,
  symbol: name,
  currencySymbol: name.nullable(),
  rateUsd: decimal,
  type: name.describe('`crypto` and `fiat` were seen.'),
});

export const servedCandle = z.strictObject({
  open: decimal,
  high: decimal,
  low: decimal,
  close: decimal,
  volume: decimal.describe('Amount of the base asset traded in the period.'),
  period: moment.describe('Start of the period, UNIX milliseconds.'),
});

export const servedError = z.strictObject({ error: z.string(), timestamp: moment });
