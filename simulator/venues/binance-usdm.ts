/**
 * Binance's REST interface for USD-M futures. It has a perpetual of each spot market of the synthetic exchange
 * `binance` in tether, and a future of bitcoin.
 *
 * Source: github.com/binance/binance-connector-js, market-data-api.ts; recorded answers. Weights depend on the number
 * of rows, and three limits are counted apart.
 */

import type { CandleInterval } from '../../model/datasets/candles.ts';
import { type DecimalText, productOf } from '../../model/decimal.ts';
import { dayMs, type EpochMs, hourMs, intervalMs, minuteMs, type Range } from '../../model/intervals.ts';
import type { Candle } from '../../v2/resources.ts';
import { positionsAt, premiumAt } from '../derivatives.ts';
import { binance, intervals, kline, refused } from './binance.ts';
import { json, type Venue, type VenueAnswer, type VenueData, type VenueMarket, type VenueRequest } from './venue.ts';

const perMinute = 2400;
const fiveMinutesMs = 5 * minuteMs;
const keptMs = 30 * dayMs;
const neverMs = 4133404800000;
/** 08:00 of the day. */
const future = { symbol: 'BTCUSDT_300628', deliveryMs: Date.UTC(2030, 5, 28, 8) };
const limitOf = (amount: number) => ({ amount, periodMs: fiveMinutesMs, kind: 'fixed' }) as const;

/** By the rows that are asked for, not by those that come. */
export function weightOfRows({ limit = '500' }: VenueRequest['query']): number {
  const rows = Number(limit);
  return rows < 100 ? 1 : rows < 500 ? 2 : rows <= 1000 ? 5 : 10;
}

export const binanceUsdm: Venue = {
  ...binance,
  limit: { ...binance.limit, amount: perMinute },
  routes: [
    { path: '/fapi/v1/exchangeInfo', answer: exchangeInfo },
    { path: '/fapi/v1/klines', cost: weightOfRows, answer: (request) => candles(request, 'symbol', true) },
    { path: '/fapi/v1/markPriceKlines', cost: weightOfRows, answer: (request) => candles(request, 'symbol', false) },
    { path: '/fapi/v1/indexPriceKlines', cost: weightOfRows, answer: (request) => candles(request, 'pair', false) },
    { path: '/fapi/v1/premiumIndexKlines', cost: weightOfRows, answer: premiums },
    { path: '/fapi/v1/fundingRate', limit: limitOf(500), answer: funding },
    { path: '/futures/data/openInterestHist', limit: limitOf(1000), answer: openInterest },
    { path: '/futures/data/globalLongShortAccountRatio', limit: limitOf(1000), answer: ratios },
  ],
};

export const perpetualsOf = (data: VenueData): readonly VenueMarket[] =>
  data.markets.filter(({ quote }) => quote === 'USDT').map((market) => ({ ...market, isPerpetual: true }));

/** Whose candles are those of the index. */
export const spotOf = (market: VenueMarket): VenueMarket => ({ ...market, isPerpetual: false });

function marketOf(request: VenueRequest, key: 'symbol' | 'pair' = 'symbol'): VenueMarket | undefined {
  const symbol = request.query[key] === future.symbol ? 'BTCUSDT' : request.query[key];
  return perpetualsOf(request.data).find(({ base, quote }) => base + quote === symbol);
}

/** Both ends are inclusive. @param newestMs without a start, the time in which the newest rows are. */
function rangeOf({ query, nowMs }: VenueRequest, newestMs = Number.POSITIVE_INFINITY): Range {
  const endMs = Math.min(Number(query.endTime ?? nowMs), nowMs) + 1;
  return { startMs: Number(query.startTime ?? Math.max(0, endMs - newestMs)), endMs };
}

/** The oldest rows, or without a start the newest. */
function firstOrLast<Row>({ query }: VenueRequest, rows: readonly Row[], limit: number): readonly Row[] {
  return query.startTime === undefined ? rows.slice(-limit) : rows.slice(0, limit);
}

function candles(request: VenueRequest, key: 'symbol' | 'pair', isTraded: boolean): VenueAnswer {
  const { query, data } = request;
  const market = marketOf(request, key);
  const interval = intervals[query.interval ?? ''];
  if (market === undefined) return refused(-1121, 'Invalid symbol.');
  if (interval === undefined) return refused(-1120, 'Invalid interval.');
  const priced = key === 'pair' ? spotOf(market) : market;
  const limit = Math.min(Number(query.limit ?? 500), 1500);
  const keep = query.startTime === undefined ? 'newest' : 'oldest';
  const newest = rangeOf(request, limit * intervalMs[interval]);
  const rows = isTraded
    ? data.page(market, interval, rangeOf(request), { limit, keep })
    : data.cut([...firstOrLast(request, everyPeriod(data, priced, interval, newest), limit)]);
  return json(rows.map((row) => (isTraded ? kline(row, interval) : withoutVolume(kline(row, interval)))));
}

/** A computed price has a candle in each period, also without a trade. */
export function everyPeriod(
  data: VenueData,
  market: VenueMarket,
  interval: CandleInterval,
  { startMs, endMs }: Range,
): Candle[] {
  const length = intervalMs[interval];
  const firstMs = Math.ceil(Math.max(startMs, market.beganMs) / length) * length;
  const traded = new Map(
    data.candles(market, interval, { startMs: firstMs, endMs }).map((row) => [row.period, row] as const),
  );
  let last = data.lastBefore(market, interval, firstMs);
  const rows: Candle[] = [];
  for (let period = firstMs; period < endMs; period += length) {
    last = traded.get(period) ?? last;
    if (last === undefined) continue;
    const { close } = last;
    rows.push(traded.get(period) ?? { ...last, period, open: close, high: close, low: close });
  }
  return rows;
}

function premiums(request: VenueRequest): VenueAnswer {
  const { query, data } = request;
  const market = marketOf(request);
  const interval = intervals[query.interval ?? ''];
  if (market === undefined) return refused(-1121, 'Invalid symbol.');
  if (interval === undefined) return refused(-1120, 'Invalid interval.');
  const limit = Math.min(Number(query.limit ?? 500), 1500);
  const times = timesIn(rangeOf(request, limit * intervalMs[interval]), intervalMs[interval]);
  const rows = data.cut(
    firstOrLast(request, times, limit).map((period) => ({ period, ...premiumAt(query.symbol ?? '', period) })),
  );
  return json(
    rows.map((row) => {
      const { period, open, high, low, close } = row;
      return [period, open, high, low, close, '0', period + intervalMs[interval] - 1, '0', 12, '0', '0', '0'];
    }),
  );
}

/** The end of a range that has its newest rows, though one is open and some are missing. */
export const newestPart = ({ startMs, endMs }: Range, rows: number, lengthMs: number): Range => ({
  startMs: Math.max(startMs, endMs - 2 * rows * lengthMs),
  endMs,
});

/** Starts of the periods in the range. */
export function timesIn({ startMs, endMs }: Range, lengthMs: number): EpochMs[] {
  const firstMs = Math.ceil(startMs / lengthMs) * lengthMs;
  return Array.from(
    { length: Math.max(0, Math.ceil((endMs - firstMs) / lengthMs)) },
    (_, place) => firstMs + place * lengthMs,
  );
}

/** The places of volumes are placeholders, and that of the trades counts samples. */
const withoutVolume = (row: readonly (EpochMs | string)[]) =>
  row.map((value, place) => (place === 5 || place === 7 || place > 8 ? '0' : place === 8 ? 60 : value));

function funding(request: VenueRequest): VenueAnswer {
  const { query, data } = request;
  const { symbol = '', limit = '100' } = query;
  if (Number(limit) > 1000) {
    const errorData = { limit: 'limit can not greater than 1000' };
    return json({ status: 'ERROR', type: 'VALID', code: '000002', errorData }, 400);
  }
  const market = marketOf(request);
  if (market === undefined || symbol === future.symbol) return json([]);
  const range = rangeOf(request, Number(limit) * 8 * hourMs);
  const events = data.fundingEvents(symbol, range).filter(({ statedMs }) => statedMs < range.endMs);
  const rows = firstOrLast(request, events, Number(limit)).map(({ timeMs, statedMs, rate }) => ({
    ...{ symbol, fundingTime: statedMs, fundingRate: rate },
    ...{ markPrice: markPriceAt(data, market, timeMs), rateType: 'Regular' },
  }));
  return json(data.cut([...rows]));
}

/** The mark price of an event, with eight decimals. It is not known of the first years. */
function markPriceAt(data: VenueData, market: VenueMarket, timeMs: EpochMs): string {
  if (timeMs < Date.UTC(2023, 9, 31)) return '';
  const [hour] = everyPeriod(data, market, 'h1', { startMs: timeMs, endMs: timeMs + hourMs });
  return hour === undefined ? '' : eightDecimals(hour.open);
}

/** Rounded down. */
export const eightDecimals = (price: string) => price.slice(0, price.indexOf('.') + 9);

/** Open contracts at times, ascending, in the base asset and at the mark price of the time. */
export function openInterestAt(
  data: VenueData,
  market: VenueMarket,
  times: readonly EpochMs[],
  symbol = market.base + market.quote,
): OpenInterest[] {
  const range = { startMs: times[0] ?? 0, endMs: (times.at(-1) ?? -1) + 1 };
  const prices = new Map(everyPeriod(data, market, 'm5', range).map(({ period, open }) => [period, open]));
  return times.flatMap((timeMs) => {
    const price = prices.get(timeMs);
    const { amount } = positionsAt(symbol, timeMs);
    return price === undefined ? [] : [{ timeMs, amount, value: eightDecimals(productOf(amount, price)) }];
  });
}

interface OpenInterest {
  readonly timeMs: EpochMs;
  readonly amount: DecimalText;
  readonly value: string;
}

/** Rows of a statistic: of the newest thirty days alone. */
function statistic(
  request: VenueRequest,
  rowsAt: (market: VenueMarket, times: readonly EpochMs[]) => object[],
): VenueAnswer {
  const { query, data, nowMs } = request;
  const { period = '', limit = '30' } = query;
  const interval = intervals[period];
  const market = marketOf(request);
  if (market === undefined) return json([]);
  if (interval === undefined) return refused(-1130, `parameter 'period' is invalid.`);
  const rows = Math.min(Number(limit), 500);
  const range = rangeOf(request, (rows + 1) * intervalMs[interval]);
  if (range.startMs < nowMs - keptMs) return refused(-1130, `parameter 'startTime' is invalid.`);
  const times = timesIn(range, intervalMs[interval]).filter(
    (timeMs) => timeMs + intervalMs[interval] <= nowMs && !data.lacks(timeMs),
  );
  return json(data.cut(rowsAt(market, firstOrLast(request, times, rows))));
}

function openInterest(request: VenueRequest): VenueAnswer {
  const { symbol } = request.query;
  return statistic(request, (market, times) =>
    openInterestAt(request.data, market, times, symbol).map(({ timeMs: timestamp, amount, value }) => ({
      ...{ symbol, sumOpenInterest: amount, sumOpenInterestValue: value, CMCCirculatingSupply: '0.00', timestamp },
    })),
  );
}

function ratios(request: VenueRequest): VenueAnswer {
  const { symbol = '' } = request.query;
  return statistic(request, (_, times) =>
    times.map((timestamp) => {
      const { ratio, long, short } = positionsAt(symbol, timestamp);
      return { symbol, longAccount: long, longShortRatio: ratio, shortAccount: short, timestamp };
    }),
  );
}

function exchangeInfo(request: VenueRequest): VenueAnswer {
  const symbols = perpetualsOf(request.data).map(({ base, quote }) => ({
    ...{ symbol: base + quote, pair: base + quote, contractType: 'PERPETUAL', deliveryDate: neverMs },
    ...{ onboardDate: 1569398400000, status: 'TRADING', baseAsset: base, quoteAsset: quote, marginAsset: quote },
  }));
  const [first] = symbols;
  const dated = { ...first, symbol: future.symbol, contractType: 'NEXT_QUARTER', deliveryDate: future.deliveryMs };
  return json({
    timezone: 'UTC',
    serverTime: request.nowMs,
    futuresType: 'U_MARGINED',
    rateLimits: [{ rateLimitType: 'REQUEST_WEIGHT', interval: 'MINUTE', intervalNum: 1, limit: perMinute }],
    exchangeFilters: [],
    assets: [],
    symbols: [...symbols, dated],
  });
}
