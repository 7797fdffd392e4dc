/**
 * OKX's REST interface, version 5, for perpetual swaps, linear and inverse.
 *
 * Source: www.okx.com/docs-v5, "Get candlesticks history", "Get mark price candlesticks history", "Get index
 * candlesticks history", "Get funding rate history", "Get contract open interest history", "Get contract long/short
 * ratio" and "Get instruments". Each path has a limit of its own for an address.
 */

import { isDecimalText, productOf } from '../../model/decimal.ts';
import { dayMs, hourMs } from '../../model/intervals.ts';
import { type RestExchange, type RestOffer, restExchange } from '../rest.ts';
import { isConfirmed, okxCandles, okxIntervals, okxManners } from './okx.ts';
import { withQuery } from './profile.ts';

const rowsOfFunding = 400;
const rowsOfPrices = 100;
/** Periods that it keeps of a statistic. */
const keptPeriods = 1440;
/** Funding of three months; older ranges are answered as empty. */
const fundingKeptMs = 90 * dayMs;

const prices = { open: 1, high: 2, low: 3, close: 4 };
/** The index of a swap: `BTC-USDT` of `BTC-USDT-SWAP`, `BTC-USD` of `BTC-USD_UM-SWAP`. */
const indexOf = (symbol: string) => symbol.split(/[-_]/).slice(0, 2).join('-');
const { m5, m15, m30, h1, h4, d1 } = okxIntervals;

/** Rows of a time and values, newest first. The range is the same, whether its ends are exclusive or inclusive. */
const statistic = (dataset: RestOffer['dataset'], path: string, values: RestOffer['values']): RestOffer => ({
  ...{ dataset, intervals: { m5, m15, m30, h1, h4, d1 }, maxRows: rowsOfPrices, depth: { periods: keptPeriods } },
  path: ({ symbol: instId, interval: period, startMs, endMs }) =>
    withQuery(path, { instId, period, begin: startMs - 1, end: endMs - 1, limit: rowsOfPrices }),
  ...{ time: 0, values },
});

/** What its budgets have in common. */
const swaps = {
  ...okxManners,
  kinds: ['perpetual'],
  markets: {
    path: withQuery('/api/v5/public/instruments', { instType: 'SWAP' }),
    // Base and quote are in `uly` alone. `listTime` of old swaps is that of the list.
    read({ instId: symbol, uly, settleCcy: settle, ctVal, ctMult, ctValCcy, listTime: listedMs, state }) {
      const [base, quote] = String(uly).split('-');
      const [value, multiple] = [ctVal, ctMult].map((text) =>
        typeof text === 'string' && isDecimalText(text) ? text : undefined,
      );
      const size = value && multiple && productOf(value, multiple);
      const contract = { size, asset: ctValCcy };
      return { symbol, base, quote, settle, listedMs, contract, isTrading: state === 'live' };
    },
  },
} as const satisfies Partial<RestExchange>;

export const okxSwap = restExchange({
  ...swaps,
  name: 'okx-swap',
  // Of the slowest paths, those of funding and an index: half of that of `history-candles`, which spot markets
  // have too.
  limits: [{ unit: 'request', amount: 10, periodMs: 2000 }],
  offers: [
    okxCandles('/api/v5/market/history-candles', {
      // 5 counts contracts. 6 is the volume in the base asset, 7 that in the quote asset, also of inverse swaps.
      ...{ dataset: 'candles', values: { ...prices, volume: 6 }, turnover: 7, isClosed: isConfirmed(8) },
    }),
    okxCandles('/api/v5/market/history-mark-price-candles', {
      ...{ dataset: 'mark_candles', values: prices, maxRows: rowsOfPrices, isClosed: isConfirmed(5) },
    }),
    okxCandles(
      '/api/v5/market/history-index-candles',
      { dataset: 'index_candles', values: prices, maxRows: rowsOfPrices, isClosed: isConfirmed(5) },
      indexOf,
    ),
    {
      ...{ dataset: 'funding_rates', intervals: { h1: 'h1' }, maxRows: rowsOfFunding, usualMs: 8 * hourMs },
      depth: { ms: fundingKeptMs },
      path: ({ symbol: instId, startMs, endMs }) =>
        withQuery('/api/v5/public/funding-rate-history', {
          ...{ instId, before: startMs - 1, after: endMs, limit: rowsOfFunding },
        }),
      // `fundingRate` is the predicted one.
      ...{ time: 'fundingTime', values: { rate: 'realizedRate' } },
    },
  ],
});

export const okxSwapData = restExchange({
  ...swaps,
  name: 'okx-swap-data',
  // That of the ratios, on paths of their own.
  limits: [{ unit: 'request', amount: 5, periodMs: 2000 }],
  offers: [
    // Contracts, coins, and US dollars, also where the quote is a stablecoin: no value in the quote.
    statistic('open_interest', '/api/v5/rubik/stat/contracts/open-interest-history', { amount: 2 }),
    statistic('long_short_ratios', '/api/v5/rubik/stat/contracts/long-short-account-ratio-contract', { ratio: 1 }),
  ],
});
