/**
 * Renders resources as JSON text with the types of the interface (specification, section 2).
 *
 * `JSON.stringify` writes numbers by way of doubles, which drop digits, so decimals are written here as text. They
 * consist of digits, signs, points and exponents and need no escaping.
 */

import type { DecimalText } from '../contract/decimal.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type {
  Asset,
  AssetMarket,
  Candle,
  Exchange,
  HistoryPoint,
  Market,
  Rate,
} from '../contract/resources.ts';

export function renderData(data: string, timestampMs: EpochMs): string {
  return `{"data":${data}${renderEnd(timestampMs)}`;
}

/** The part after the data, the only part of a response that changes with time. ASCII. */
export function renderEnd(timestampMs: EpochMs): string {
  return `,"timestamp":${timestampMs}}`;
}

export function renderList<Row>(rows: readonly Row[], render: (row: Row) => string): string {
  let text = '[';
  for (let at = 0; at < rows.length; at++) text += (at === 0 ? '' : ',') + render(rows[at] as Row);
  return `${text}]`;
}

export function renderCandle(row: Candle): string {
  return `{"open":"${row.open}","high":"${row.high}","low":"${row.low}","close":"${row.close}","volume":"${row.volume}","period":${row.period}}`;
}

export function renderHistoryPoint(row: HistoryPoint): string {
  return `{"priceUsd":${number(row.priceUsd)},"time":${row.time}}`;
}

/** An asset of a list: `rank` is text, and `vwap24Hr` is absent. */
export function renderListedAsset(row: Asset): string {
  const rank = row.rank === null ? 'null' : `"${row.rank}"`;
  return `{${assetFields(row, rank)}}`;
}

/** A single asset: `rank` is an integer, and `vwap24Hr` is present. */
export function renderAsset(row: Asset): string {
  return `{${assetFields(row, String(row.rank))},"vwap24Hr":${decimal(row.vwap24Hr)}}`;
}

export function renderAssetMarket(row: AssetMarket): string {
  return (
    `{"exchangeId":${string(row.exchangeId)},"baseId":${string(row.baseId)},"quoteId":${string(row.quoteId)},` +
    `"baseSymbol":${string(row.baseSymbol)},"quoteSymbol":${string(row.quoteSymbol)},` +
    `"volumeUsd24Hr":${number(row.volumeUsd24Hr)},"priceUsd":${number(row.priceUsd)},` +
    `"volumePercent":${number(row.volumePercent)}}`
  );
}

export function renderMarket(row: Market): string {
  return (
    `{"exchangeId":${string(row.exchangeId)},"rank":${row.rank},` +
    `"baseSymbol":${string(row.baseSymbol)},"baseId":${string(row.baseId)},` +
    `"quoteSymbol":${string(row.quoteSymbol)},"quoteId":${string(row.quoteId)},` +
    `"priceQuote":${decimal(row.priceQuote)},"priceUsd":${decimal(row.priceUsd)},` +
    `"volumeUsd24Hr":${decimal(row.volumeUsd24Hr)},` +
    `"percentExchangeVolume":${decimal(row.percentExchangeVolume)},` +
    `"tradesCount24Hr":${row.tradesCount24Hr},"updated":${row.updated}}`
  );
}

export function renderExchange(row: Exchange): string {
  return (
    `{"id":${string(row.id)},"name":${string(row.name)},"rank":${row.rank},` +
    `"percentTotalVolume":${decimal(row.percentTotalVolume)},"volumeUsd":${decimal(row.volumeUsd)},` +
    `"tradingPairs":${row.tradingPairs},"socket":${row.socket},` +
    `"exchangeUrl":${string(row.exchangeUrl)},"updated":${row.updated}}`
  );
}

export function renderRate(row: Rate): string {
  return (
    `{"id":${string(row.id)},"symbol":${string(row.symbol)},"currencySymbol":${string(row.currencySymbol)},` +
    `"rateUsd":${decimal(row.rateUsd)},"type":${string(row.type)}}`
  );
}

function assetFields(row: Asset, rank: string): string {
  return (
    `"id":${string(row.id)},"rank":${rank},"symbol":${string(row.symbol)},"name":${string(row.name)},` +
    `"supply":${decimal(row.supply)},"maxSupply":${decimal(row.maxSupply)},` +
    `"marketCapUsd":${decimal(row.marketCapUsd)},"volumeUsd24Hr":${decimal(row.volumeUsd24Hr)},` +
    `"priceUsd":${decimal(row.priceUsd)},"changePercent24Hr":${decimal(row.changePercent24Hr)}`
  );
}

function string(text: string | null): string {
  return JSON.stringify(text);
}

function decimal(text: DecimalText | null): string {
  return text === null ? 'null' : `"${text}"`;
}

/** A JSON number with all digits of the decimal. Decimal text may have leading zeros, which JSON forbids. */
function number(text: DecimalText | null): string {
  if (text === null) return 'null';
  return /^-?0\d/.test(text) ? text.replace(/^(-?)0+(?=\d)/, '$1') : text;
}
