/**
 * Bybit's REST interface, version 5, for spot markets: candles and the list of instruments. It has the markets of the
 * synthetic exchange `binance`.
 *
 * Source: bybit-exchange.github.io/docs/v5, "Get Kline", "Get Instruments Info", "Rate Limit Rules" and "Error Codes".
 * Errors come as `retCode` in a 200. It has the intervals of the interface and no others.
 */

import type { CandleInterval } from '../../model/datasets/candles.ts';
import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import type { Candle } from '../../v2/resources.ts';
import { json, turnoverOf, type Venue, type VenueAnswer, type VenueRequest, wholeOf } from './venue.ts';

export const intervals: Readonly<Record<string, CandleInterval>> = {
  1: 'm1',
  5: 'm5',
  15: 'm15',
  30: 'm30',
  60: 'h1',
  120: 'h2',
  240: 'h4',
  720: 'h12',
  D: 'd1',
  W: 'w1',
};

const defaultRows = 200;
const maxRows = 1000;

export const answered = (retCode: number, retMsg: string, result: object, time: EpochMs) =>
  json({ retCode, retMsg, result, retExtInfo: {}, time });

export const bybit: Venue = {
  exchange: 'binance',
  // The first request too many bans the address for ten minutes.
  limit: { amount: 600, periodMs: 5000, kind: 'rolling', ban: { afterRefusals: 0, forMs: 10 * minuteMs } },
  refuse: ({ isBan, inMs, freeAtMs }) =>
    isBan
      ? { status: 403, body: 'access too frequent', headers: { 'content-type': 'text/plain' } }
      : answered(10006, 'Too many visits!', {}, freeAtMs - inMs),
  failure: json({ retCode: 10016, retMsg: 'Server error.', result: {}, retExtInfo: {} }, 500),
  unknownPath: { status: 404, body: '' },
  routes: [
    { path: '/v5/market/kline', answer: kline },
    { path: '/v5/market/instruments-info', answer: instruments },
  ],
};

function kline({ query, data, nowMs }: VenueRequest): VenueAnswer {
  const failed = (message: string) => answered(10001, message, {}, nowMs);
  const { category = 'linear', symbol, interval: name } = query;
  if (category !== 'spot') return failed('Illegal category');
  const market = data.markets.find(({ base, quote }) => base + quote === symbol);
  if (market === undefined) return failed('Not supported symbols');
  const interval = intervals[name ?? ''];
  if (interval === undefined) return failed('Invalid period!');
  for (const field of ['start', 'end', 'limit'])
    if (wholeOf(query[field] ?? '0') === null) return failed(`params error: ${field} invalid`);

  const range = { startMs: Number(query.start ?? 0), endMs: Number(query.end ?? nowMs) + 1 };
  const limit = Math.min(Number(query.limit ?? defaultRows), maxRows);
  // A start alone begins there; a whole range gives its newest rows.
  const keep = query.start !== undefined && query.end === undefined ? 'oldest' : 'newest';
  const list = data.page(market, interval, range, { limit, keep }).toReversed().map(row);
  const named = data.answerForm === 'another-market' ? `${symbol}X` : symbol;
  return answered(0, 'OK', { category, symbol: named, list }, nowMs);
}

function row(candle: Candle): string[] {
  const { period, open, high, low, close, volume } = candle;
  return [String(period), open, high, low, close, volume, turnoverOf(candle)];
}

function instruments({ query, data, nowMs }: VenueRequest): VenueAnswer {
  const { category, symbol } = query;
  if (category !== 'spot') return answered(10001, 'Illegal category', {}, nowMs);
  const list = data.markets
    .map(({ base, quote }) => ({
      symbol: base + quote,
      baseCoin: base,
      quoteCoin: quote,
      innovation: '0',
      status: 'Trading',
      marginTrading: 'none',
      stTag: '0',
      lotSizeFilter: { basePrecision: '0.000001', quotePrecision: '0.0000001', minOrderQty: '0.000001' },
      priceFilter: { tickSize: '0.01' },
      riskParameters: { priceLimitRatioX: '0.01', priceLimitRatioY: '0.02' },
    }))
    .filter((instrument) => symbol === undefined || instrument.symbol === symbol);
  return answered(0, 'OK', { category, list }, nowMs);
}
