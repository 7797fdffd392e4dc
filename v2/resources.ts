/**
 * Schemas for reading the resources of the interface (specification, section 2).
 *
 * They accept the variants seen in the field: figures as text or number, nulls, an exchange's `exchangeId` instead of
 * `id`, and unknown extra fields, which are dropped. The output has one shape for each resource, with exact decimals.
 */

import { z } from 'zod';
import { byDataset, type DatasetName, type Datasets } from '../model/datasets/index.ts';
import { type DecimalText, isDecimalText } from '../model/decimal.ts';
import { type EpochMs, latestMs } from '../model/intervals.ts';

const notADecimal = 'not a decimal';

/**
 * A decimal as text or as a JSON number. The JSON reader (`sources/json.ts`) passes numbers that a double would change
 * as text, so only exact integers arrive here as numbers.
 */
const decimal = z.union([z.string(), z.int()], notADecimal).transform((value, context): DecimalText => {
  const text = String(value);
  if (isDecimalText(text)) return text;
  context.addIssue({ code: 'custom', message: notADecimal });
  return z.NEVER;
});

/** Such long ones alone: text and JSON numbers look alike here, and `"1e3"` is no time. */
const writtenAsFraction = /^\d{10,15}\.0+$|^\d\.\d{1,15}[eE]\+?\d\d$/;

/**
 * A number for the text of a JSON number such as `1704067200000.0` or `1.7e12` where it is a whole one; else the value
 * itself.
 */
export function wholeNumber(value: unknown): unknown {
  return typeof value === 'string' && writtenAsFraction.test(value) ? Number(value) : value;
}

/** An integer, as text or as a JSON number. */
const integer = z.preprocess(
  wholeNumber,
  z.union([z.int(), z.string().regex(/^-?\d{1,15}$/)], 'not an integer').transform(Number),
);

/** UNIX milliseconds. */
export const epochMs = z.preprocess(wholeNumber, z.int().min(0).max(latestMs));

/**
 * Text that PostgreSQL can store: no NUL and no lone surrogate, which has no UTF-8. Such a row is rejected alone;
 * otherwise the commit of the whole response would fail.
 */
const storable = z.string().regex(/^[^\0\p{Surrogate}]*$/u, 'holds a character that cannot be stored');

export const id = storable.min(1).max(200);
const text = storable.max(2000);
/** A name that identifies rows. Four of them fit into one index entry. */
const name = storable.max(200);

/** A field that may be absent or null; both become null. */
function absentAsNull<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value): z.output<Schema> | null => value ?? null);
}

export const asset = z.object({
  id,
  rank: absentAsNull(integer),
  symbol: text,
  name: text,
  supply: absentAsNull(decimal),
  maxSupply: absentAsNull(decimal),
  marketCapUsd: absentAsNull(decimal),
  volumeUsd24Hr: absentAsNull(decimal),
  priceUsd: absentAsNull(decimal),
  changePercent24Hr: absentAsNull(decimal),
  vwap24Hr: absentAsNull(decimal),
});
export type Asset = z.output<typeof asset>;

/** Points of each dataset, with the names of its columns. */
export const points = byDataset(({ columns, timeField }) =>
  z.object({
    ...Object.fromEntries(columns.map(({ json, isOptional }) => [json, isOptional ? absentAsNull(decimal) : decimal])),
    [timeField]: epochMs,
  }),
);

/** What every source gives of a point of the dataset. */
type PointOf<Name extends DatasetName> = Record<
  Exclude<Datasets[Name]['columns'][number], { readonly isOptional: true }>['json'],
  DecimalText
> &
  Record<Datasets[Name]['timeField'], EpochMs>;

/** A price of an asset at `time`; for `d1` the mean over the UTC day that starts there. */
export type HistoryPoint = PointOf<'asset_history'>;
/** `period` is the start of the candle, `volume` the amount of the base asset traded in it. */
export type Candle = PointOf<'candles'>;

export const assetMarket = z.object({
  /** In the field the exchange's display name, not its id. */
  exchangeId: name,
  baseId: id,
  quoteId: id,
  baseSymbol: text,
  quoteSymbol: text,
  volumeUsd24Hr: absentAsNull(decimal),
  priceUsd: absentAsNull(decimal),
  volumePercent: absentAsNull(decimal),
});
export type AssetMarket = z.output<typeof assetMarket>;

export const market = z.object({
  exchangeId: id,
  rank: absentAsNull(integer),
  baseSymbol: text,
  baseId: id,
  quoteSymbol: text,
  quoteId: id,
  priceQuote: absentAsNull(decimal),
  priceUsd: absentAsNull(decimal),
  volumeUsd24Hr: absentAsNull(decimal),
  percentExchangeVolume: absentAsNull(decimal),
  tradesCount24Hr: absentAsNull(integer),
  updated: absentAsNull(epochMs),
});
export type Market = z.output<typeof market>;

const exchangeFields = z.object({
  id,
  name: text,
  rank: absentAsNull(integer),
  percentTotalVolume: absentAsNull(decimal),
  volumeUsd: absentAsNull(decimal),
  tradingPairs: absentAsNull(integer),
  socket: absentAsNull(z.boolean()),
  /** May lack its scheme. */
  exchangeUrl: absentAsNull(text),
  updated: absentAsNull(epochMs),
});
export const exchange = z.preprocess(exchangeIdAsId, exchangeFields);
export type Exchange = z.output<typeof exchangeFields>;

export const rate = z.object({
  id,
  symbol: text,
  currencySymbol: absentAsNull(text),
  rateUsd: decimal,
  /** `crypto` and `fiat` were seen. The full list of values is not part of the interface. */
  type: text,
});
export type Rate = z.output<typeof rate>;

function exchangeIdAsId(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('exchangeId' in value) || 'id' in value) return value;
  return { ...value, id: value.exchangeId };
}
