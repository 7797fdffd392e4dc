/**
 * Bybit's REST interface, version 5, for linear markets: perpetuals and dated futures that are settled in USDT or USDC.
 *
 * Source: bybit-exchange.github.io/docs/v5, "Get Mark Price Kline", "Get Funding Rate History", "Get Open Interest" and
 * "Get Long Short Ratio". Pages are the newest rows of a range, descending.
 */

import { hourMs } from '../../model/intervals.ts';
import { isObject } from '../answer.ts';
import { type RestOffer, restExchange } from '../rest.ts';
import { bybitCandles, bybitManners, tradedVolumes } from './bybit.ts';
import { withQuery } from './profile.ts';

const category = 'linear';
const rowsOfFunding = 200;

const marketsOfPage = 1000;

/** Rows of a market, of a range whose ends are inclusive. */
const market = (result: Readonly<Record<string | number, unknown>>) => result.list;

/** A list whose category and market are stated beside it, in its rows, or nowhere. */
const otherMarket: RestOffer['otherMarket'] = ({ category: stated = category, symbol: named, list }, symbol) => {
  const names = [named, ...(Array.isArray(list) ? list.map((row) => isObject(row) && row.symbol) : [])];
  const other = names.find((name) => typeof name === 'string' && name !== symbol);
  return stated === category && other === undefined ? undefined : `${stated} ${other ?? symbol}`;
};

const statistic = (
  dataset: RestOffer['dataset'],
  path: string,
  { key, limit, values }: { readonly key: string; readonly limit: number; readonly values: RestOffer['values'] },
): RestOffer => ({
  ...{ dataset, maxRows: limit, rows: market, otherMarket, time: 'timestamp', values },
  intervals: { m5: '5min', m15: '15min', m30: '30min', h1: '1h', h4: '4h', d1: '1d' },
  path: ({ symbol, interval, startMs, endMs }) =>
    withQuery(path, { category, symbol, [key]: interval, startTime: startMs, endTime: endMs - 1, limit }),
});

export const bybitLinear = restExchange({
  ...bybitManners,
  name: 'bybit-linear',
  kinds: ['perpetual', 'future'],
  offers: [
    bybitCandles(category, '/v5/market/kline', { dataset: 'candles', ...tradedVolumes }),
    bybitCandles(category, '/v5/market/mark-price-kline', { dataset: 'mark_candles' }),
    bybitCandles(category, '/v5/market/index-price-kline', { dataset: 'index_candles' }),
    bybitCandles(category, '/v5/market/premium-index-price-kline', { dataset: 'premium_candles' }),
    {
      ...{ dataset: 'funding_rates', intervals: { h1: 'h1' }, maxRows: rowsOfFunding, usualMs: 8 * hourMs },
      path: ({ symbol, startMs, endMs }) =>
        withQuery('/v5/market/funding/history', {
          ...{ category, symbol, startTime: startMs, endTime: endMs - 1, limit: rowsOfFunding },
        }),
      ...{ rows: market, otherMarket, time: 'fundingRateTimestamp', values: { rate: 'fundingRate' } },
    },
    {
      ...statistic('open_interest', '/v5/market/open-interest', {
        ...{ key: 'intervalTime', limit: 200, values: { amount: 'singleOpenInterest' } },
      }),
      // `openInterest` counts both sides since June 2026, and is not twice the other one to the last digit: it is not
      // taken where it stands alone.
      refuses: ({ singleOpenInterest }) =>
        singleOpenInterest === undefined ? 'no singleOpenInterest: openInterest counts both sides' : null,
    },
    statistic('long_short_ratios', '/v5/market/account-ratio', {
      ...{ key: 'period', limit: 500, values: { long_share: 'buyRatio', short_share: 'sellRatio' } },
    }),
  ],
  markets: {
    // One page holds all of them, of which there are about 700. Without the next page a full one is refused: the
    // markets after it would count as gone.
    path: withQuery('/v5/market/instruments-info', { category, limit: marketsOfPage }),
    rows: ({ list, nextPageCursor }) =>
      Array.isArray(list) && list.length >= marketsOfPage && nextPageCursor ? undefined : list,
    read(row) {
      const { symbol, baseCoin: base, quoteCoin: quote, settleCoin: settle, launchTime: listedMs } = row;
      const expiry = row.contractType === 'LinearFutures' ? { expiryMs: row.deliveryTime } : {};
      return { symbol, base, quote, settle, listedMs, ...expiry, isTrading: row.status === 'Trading' };
    },
  },
});
