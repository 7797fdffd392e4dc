/**
 * Bybit's REST interface, version 5, for linear markets. It has a perpetual of each spot market in tether, and a future
 * of bitcoin at the prices of its perpetual.
 *
 * Source: bybit-exchange.github.io/docs/v5. A page holds the newest rows of a range, descending, and both ends count.
 */

import { type EpochMs, hourMs, intervalMs, type Range } from '../../model/intervals.ts';
import type { Candle } from '../../v2/resources.ts';
import { positionsAt, premiumAt } from '../derivatives.ts';
import { fixedText } from '../digits.ts';
import { everyPeriod, newestPart, perpetualsOf, spotOf, timesIn } from './binance-usdm.ts';
import { answered, bybit, intervals } from './bybit.ts';
import { turnoverOf, type Venue, type VenueAnswer, type VenueMarket, type VenueRequest } from './venue.ts';

const category = 'linear';
/** 08:00 of the day. */
const future = { symbol: 'BTC-28JUN30', contractType: 'LinearFutures', deliveryTime: String(Date.UTC(2030, 5, 28, 8)) };
const statisticIntervals = {
  '5min': 'm5',
  '15min': 'm15',
  '30min': 'm30',
  '1h': 'h1',
  '4h': 'h4',
  '1d': 'd1',
} as const;

export const bybitLinear: Venue = {
  ...bybit,
  routes: [
    { path: '/v5/market/kline', answer: (request) => candles(request, 'traded') },
    { path: '/v5/market/mark-price-kline', answer: (request) => candles(request, 'mark') },
    { path: '/v5/market/index-price-kline', answer: (request) => candles(request, 'index') },
    { path: '/v5/market/premium-index-price-kline', answer: (request) => candles(request, 'premium') },
    { path: '/v5/market/funding/history', answer: funding },
    { path: '/v5/market/open-interest', answer: openInterest },
    { path: '/v5/market/account-ratio', answer: ratios },
    { path: '/v5/market/instruments-info', answer: instruments },
  ],
};

function marketOf({ query, data }: VenueRequest): VenueMarket | undefined {
  const symbol = query.symbol === future.symbol ? 'BTCUSDT' : query.symbol;
  return query.category === category
    ? perpetualsOf(data).find(({ base, quote }) => base + quote === symbol)
    : undefined;
}

const rangeOf = ({ query, nowMs }: VenueRequest, start: 'start' | 'startTime', end: 'end' | 'endTime'): Range => ({
  startMs: Number(query[start] ?? 0),
  endMs: Math.min(Number(query[end] ?? nowMs), nowMs) + 1,
});

/** The newest rows, descending. */
function page<Row extends object>(request: VenueRequest, rows: readonly Row[], most: number, given: number): Row[] {
  const limit = Math.min(Number(request.query.limit ?? given), most);
  return request.data.cut(rows.slice(Math.max(0, rows.length - limit))).toReversed();
}

function candles(request: VenueRequest, what: 'traded' | 'mark' | 'index' | 'premium'): VenueAnswer {
  const { query, data, nowMs } = request;
  const { symbol = '', interval: name = '' } = query;
  const market = marketOf(request);
  const interval = intervals[name];
  if (market === undefined) return answered(10001, 'Not supported symbols', {}, nowMs);
  if (interval === undefined) return answered(10001, 'Invalid period!', {}, nowMs);
  const range = rangeOf(request, 'start', 'end');
  const newest = newestPart(range, 1000, intervalMs[interval]);
  const limit = Math.min(Number(query.limit ?? 200), 1000);
  const prices = (row: Omit<Candle, 'volume'>) => [String(row.period), row.open, row.high, row.low, row.close];
  const computed = (): Omit<Candle, 'volume'>[] =>
    what === 'premium'
      ? timesIn(newest, intervalMs[interval]).map((period) => ({ period, ...premiumAt(symbol, period) }))
      : everyPeriod(data, what === 'index' ? spotOf(market) : market, interval, newest);
  const traded = () => data.page(market, interval, range, { limit, keep: 'newest' }).toReversed();
  const list =
    what === 'traded'
      ? traded().map((row) => [...prices(row), row.volume, turnoverOf(row)])
      : page(request, computed(), 1000, 200).map(prices);
  const named = data.answerForm === 'another-market' ? `${symbol}X` : symbol;
  return answered(0, 'OK', { category, symbol: named, list }, nowMs);
}

function funding(request: VenueRequest): VenueAnswer {
  const { query, data, nowMs } = request;
  const { symbol = '' } = query;
  if (marketOf(request) === undefined) return answered(10001, 'symbol invalid', {}, nowMs);
  if (query.startTime !== undefined && query.endTime === undefined)
    return answered(10001, 'endTime is required', {}, nowMs);
  const range = newestPart(rangeOf(request, 'startTime', 'endTime'), 200, 8 * hourMs);
  const events = data.fundingEvents(symbol, range).map(({ timeMs, statedMs, rate }) => ({
    // It states the full hour.
    ...{ symbol, fundingRate: rate, fundingRateTimestamp: String(statedMs - timeMs < 1000 ? timeMs : statedMs) },
  }));
  return answered(0, 'OK', { category, list: page(request, events, 200, 200) }, nowMs);
}

function statistic(
  request: VenueRequest,
  { key, most, stated = {} }: { readonly key: string; readonly most: number; readonly stated?: object },
  row: (symbol: string, timeMs: EpochMs) => object,
): VenueAnswer {
  const { query, data, nowMs } = request;
  const interval = statisticIntervals[(query[key] ?? '') as keyof typeof statisticIntervals];
  if (marketOf(request) === undefined) return answered(10001, 'symbol invalid', {}, nowMs);
  if (interval === undefined) return answered(10001, 'Invalid period!', {}, nowMs);
  const range = newestPart(rangeOf(request, 'startTime', 'endTime'), most, intervalMs[interval]);
  const times = timesIn(range, intervalMs[interval]);
  const closed = times.filter((timeMs) => timeMs + intervalMs[interval] <= nowMs && !data.lacks(timeMs));
  const list = page(
    request,
    closed.map((timeMs) => row(query.symbol ?? '', timeMs)),
    most,
    50,
  );
  // A cursor is there after the last page too.
  return answered(0, 'OK', { ...stated, list, nextPageCursor: 'lastid%3D0' }, nowMs);
}

function openInterest(request: VenueRequest): VenueAnswer {
  const stated = { symbol: request.query.symbol, category };
  return statistic(request, { key: 'intervalTime', most: 200, stated }, (symbol, timeMs) => {
    const { amount } = positionsAt(symbol, timeMs);
    // Both sides are not twice the one to the last digit.
    const both = fixedText(2n * BigInt(amount.replace('.', '')) - 1n, 3);
    return { openInterest: both, singleOpenInterest: amount, timestamp: String(timeMs) };
  });
}

function ratios(request: VenueRequest): VenueAnswer {
  return statistic(request, { key: 'period', most: 500 }, (symbol, timeMs) => {
    const { long, short } = positionsAt(symbol, timeMs);
    return { symbol, buyRatio: long, sellRatio: short, timestamp: String(timeMs) };
  });
}

function instruments({ query, data, nowMs }: VenueRequest): VenueAnswer {
  if (query.category !== category) return answered(10001, 'Illegal category', {}, nowMs);
  const list = perpetualsOf(data).map(({ base, quote }) => ({
    ...{ symbol: base + quote, contractType: 'LinearPerpetual', status: 'Trading', baseCoin: base, quoteCoin: quote },
    ...{ launchTime: '1585526400000', deliveryTime: '0', settleCoin: quote, fundingInterval: 480 },
  }));
  return answered(0, 'OK', { category, list: [...list, { ...list[0], ...future }], nextPageCursor: '' }, nowMs);
}
