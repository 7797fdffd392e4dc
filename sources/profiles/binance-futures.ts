/**
 * Binance's REST interfaces for perpetuals and dated futures: USD-M, settled in a stablecoin, and COIN-M, counted in
 * contracts of dollars and settled in the base asset.
 *
 * USD-M counts three budgets apart, each by address, so each is a source of its own: the weight of prices, funding, and
 * statistics of positions. All of COIN-M counts against one weight. Source: github.com/binance/binance-connector-js,
 * derivatives-trading-usds-futures and derivatives-trading-coin-futures, market-data-api.ts of 2026 (paths, limits of
 * rows and ranges, weights), the types of the latter (units of open interest), and the change log.
 */

import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { parseQuote } from '../../model/market.ts';
import { fieldOf, textAt } from '../error-response.ts';
import { type RestExchange, type RestOffer, restExchange } from '../rest.ts';
import { SourceError } from '../source-error.ts';
import { binanceManners, intervals, usedWeight } from './binance.ts';
import { usdmMarkets } from './binance-usdm-archive.ts';
import { withQuery } from './profile.ts';

/** Rows of the cheapest request a row: 499 cost 2 of weight, up to 1,000 cost 5. */
const rowsOfCandles = 499;
const weightOfCandles = 2;
const rowsOfFunding = 1000;
const rowsOfStatistics = 500;
/** Statistics are kept for 30 days, their files for good. */
const keptMs = 30 * dayMs;
const fiveMinutesMs = 5 * minuteMs;

/** Intervals of statistics. */
const statisticsIntervals = { m5: '5m', m15: '15m', m30: '30m', h1: '1h', h4: '4h', d1: '1d' };

/** A dated future of Binance has no funding, and its index is that of its pair: `BTCUSDT` of `BTCUSDT_261225`. */
const pairOf = (symbol: string) => symbol.split('_')[0];
/** Code of the error of a parameter. */
const badParameter = -1130;
/** Far in the future: a perpetual, whatever the type of its contract. */
const neverMs = 4133404800000;

/** What all futures of Binance have in common. */
const futuresManners = {
  ...binanceManners,
  exchange: 'binance',
  kinds: ['perpetual', 'future'],
  states(body, reply, nowMs) {
    const stated = binanceManners.states(body, reply, nowMs);
    // A range that is older than it keeps: a shorter one would be refused too.
    if (fieldOf(body, 'code') === badParameter && /startTime/.test(stated.said ?? ''))
      return { ...stated, kind: 'incomplete' };
    // A form of its own for a parameter out of range.
    const problem = fieldOf(body, 'errorData');
    return stated.said === null && problem !== undefined
      ? { ...stated, said: `${textAt(body, 'code')}: ${JSON.stringify(problem)}` }
      : stated;
  },
} as const satisfies Partial<RestExchange>;

/** A market of a list, without its contract. */
const readMarket: RestExchange['markets']['read'] = (row) => {
  const { symbol, baseAsset: base, quoteAsset: quote, marginAsset: settle, contractType, deliveryDate } = row;
  const isPerpetual = /PERPETUAL$/.test(String(contractType)) || Number(deliveryDate) >= neverMs;
  const expiry = isPerpetual ? {} : { expiryMs: deliveryDate };
  const listedMs = row.onboardDate;
  return {
    symbol,
    base,
    quote,
    settle,
    listedMs,
    ...expiry,
    isTrading: (row.status ?? row.contractStatus) === 'TRADING',
  };
};

/** What its budgets have in common. */
const usdm = {
  ...futuresManners,
  ...usdmMarkets,
  url: 'https://fapi.binance.com',
  // `onboardDate` is later than the first rows: 2019-09-25 for BTCUSDT, which has funding of 2019-09-10.
  markets: { path: '/fapi/v1/exchangeInfo', rows: ({ symbols }) => symbols, read: readMarket },
} as const satisfies Partial<RestExchange>;

const placesOfPrices = { open: 1, high: 2, low: 3, close: 4 };

/** Candles of a price. @param key the parameter that names the market. */
const candlesOf = (
  dataset: RestOffer['dataset'],
  path: string,
  { key = 'symbol', ...more }: Partial<RestOffer> & { readonly key?: 'symbol' | 'pair' } = {},
): RestOffer => ({
  ...{ dataset, intervals, maxRows: rowsOfCandles, cost: weightOfCandles, time: 0, values: placesOfPrices },
  // Its end is inclusive, by the time at which a candle opens.
  path: ({ symbol, interval, startMs, endMs }) =>
    withQuery(path, {
      [key]: key === 'pair' ? pairOf(symbol) : symbol,
      ...{ interval, startTime: startMs, endTime: endMs - 1, limit: rowsOfCandles },
    }),
  ...more,
});

export const binanceUsdm = restExchange({
  ...usdm,
  name: 'binance-usdm',
  archive: 'binance-usdm-archive',
  limits: [{ unit: 'weight', amount: 2400, periodMs: minuteMs }],
  used: usedWeight,
  offers: [
    candlesOf('candles', '/fapi/v1/klines', { values: { ...placesOfPrices, volume: 5 }, turnover: 7 }),
    // The other columns are placeholders.
    candlesOf('mark_candles', '/fapi/v1/markPriceKlines'),
    candlesOf('index_candles', '/fapi/v1/indexPriceKlines', { key: 'pair' }),
    candlesOf('premium_candles', '/fapi/v1/premiumIndexKlines'),
  ],
});

const fundingOf = (path: string): RestOffer => ({
  ...{ dataset: 'funding_rates', intervals: { h1: 'h1' }, maxRows: rowsOfFunding, usualMs: 8 * hourMs },
  // Both ends are inclusive. An event is stated up to some milliseconds after its hour.
  path: ({ symbol, startMs, endMs }) =>
    withQuery(path, { symbol, startTime: startMs, endTime: endMs - 1, limit: rowsOfFunding }),
  ...{ time: 'fundingTime', values: { rate: 'fundingRate', mark_price: 'markPrice' } },
  // Of a dividend, beside the usual event of the same time. It is kept in quarantine.
  refuses: ({ rateType = 'Regular' }) => (rateType === 'Regular' ? null : `a rate of the type ${rateType}`),
});

export const binanceUsdmFunding = restExchange({
  ...usdm,
  name: 'binance-usdm-funding',
  archive: 'binance-usdm-archive',
  // Shared with `fundingInfo`, which is not asked for.
  limits: [{ unit: 'request', amount: 500, periodMs: fiveMinutesMs }],
  // Files have no mark price. Here it is empty before.
  offers: [{ ...fundingOf('/fapi/v1/fundingRate'), addsSinceMs: Date.UTC(2023, 10, 1) }],
});

/** A statistic of each period. @param marketOf parameters that name the market. */
const statistic = (
  dataset: RestOffer['dataset'],
  path: string,
  values: RestOffer['values'],
  marketOf: (symbol: string) => object = (symbol) => ({ symbol }),
): RestOffer => ({
  ...{ dataset, intervals: statisticsIntervals, maxRows: rowsOfStatistics, depth: { ms: keptMs } },
  path: ({ symbol, interval: period, startMs, endMs }) =>
    withQuery(path, {
      ...{ ...marketOf(symbol), period, startTime: startMs, endTime: endMs - 1, limit: rowsOfStatistics },
    }),
  ...{ time: 'timestamp', values },
});

export const binanceUsdmData = restExchange({
  ...usdm,
  name: 'binance-usdm-data',
  archive: 'binance-usdm-archive-daily',
  limits: [{ unit: 'request', amount: 1000, periodMs: fiveMinutesMs }],
  offers: [
    statistic('open_interest', '/futures/data/openInterestHist', {
      ...{ amount: 'sumOpenInterest', value: 'sumOpenInterestValue' },
    }),
    statistic('long_short_ratios', '/futures/data/globalLongShortAccountRatio', {
      ...{ ratio: 'longShortRatio', long_share: 'longAccount', short_share: 'shortAccount' },
    }),
  ],
});

/** Of a request of candles. */
const longestMs = 200 * dayMs;
const prices = (dataset: RestOffer['dataset'], path: string, more: Parameters<typeof candlesOf>[2] = {}) =>
  candlesOf(dataset, path, { longestMs, ...more });

/** Statistics name a pair and the type of a contract. @throws SourceError of a future: its type changes with time. */
function perpetualOf(symbol: string) {
  if (symbol.endsWith('_PERP')) return { pair: pairOf(symbol), contractType: 'PERPETUAL' };
  throw new SourceError({ kind: 'refused', message: `Binance has no open interest of ${symbol} alone` });
}

export const binanceCoinm = restExchange({
  ...futuresManners,
  name: 'binance-coinm',
  url: 'https://dapi.binance.com',
  symbolOf(base, quote) {
    const { asset, expiry } = parseQuote(quote);
    return `${base}${asset}_${expiry ?? 'PERP'}`;
  },
  limits: [{ unit: 'weight', amount: 2400, periodMs: minuteMs }],
  used: usedWeight,
  offers: [
    prices('candles', '/dapi/v1/klines', {
      // 5 counts contracts, 7 the base asset. There is no volume in the quote.
      values: { ...placesOfPrices, volume: 7 },
      refuses: ({ 5: contracts }) => (/^\d+$/.test(String(contracts)) ? null : 'its volume is not in whole contracts'),
    }),
    prices('mark_candles', '/dapi/v1/markPriceKlines'),
    prices('index_candles', '/dapi/v1/indexPriceKlines', { key: 'pair' }),
    prices('premium_candles', '/dapi/v1/premiumIndexKlines'),
    fundingOf('/dapi/v1/fundingRate'),
    {
      // `sumOpenInterest` counts contracts, and the other one, whatever its name, the base asset.
      ...statistic('open_interest', '/futures/data/openInterestHist', { amount: 'sumOpenInterestValue' }, perpetualOf),
      kinds: ['perpetual'],
      refuses: ({ contractType }) => (contractType === 'PERPETUAL' ? null : `of the contracts ${contractType}`),
    },
  ],
  markets: {
    path: '/dapi/v1/exchangeInfo',
    rows: ({ symbols }) => symbols,
    read: (row) => ({ ...readMarket(row), contract: { size: String(row.contractSize), asset: row.quoteAsset } }),
  },
});
