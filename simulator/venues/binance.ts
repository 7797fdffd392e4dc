/**
 * Binance's REST interface for spot markets: candles and the list of symbols.
 *
 * Source: developers.binance.com, "Market Data endpoints", "LIMITS" and "Error codes". It has the intervals of the
 * interface and no others. Prices have all digits of the synthetic market; Binance gives eight.
 */

import type { CandleInterval } from '../../model/datasets/candles.ts';
import { type EpochMs, intervalMs, minuteMs } from '../../model/intervals.ts';
import type { Candle } from '../../v2/resources.ts';
import { json, turnoverOf, type Venue, type VenueAnswer, type VenueRequest, wholeOf } from './venue.ts';

export const intervals: Readonly<Record<string, CandleInterval>> = {
  '1m': 'm1',
  '5m': 'm5',
  '15m': 'm15',
  '30m': 'm30',
  '1h': 'h1',
  '2h': 'h2',
  '4h': 'h4',
  '8h': 'h8',
  '12h': 'h12',
  '1d': 'd1',
  '1w': 'w1',
};

const defaultRows = 500;
const maxRows = 1000;

export const refused = (code: number, msg: string) => json({ code, msg }, 400);
const missing = (name: string) =>
  refused(-1102, `Mandatory parameter '${name}' was not sent, was empty/null, or malformed.`);
const illegal = (name: string, legal: string) =>
  refused(-1100, `Illegal characters found in parameter '${name}'; legal range is '${legal}'.`);
const insteadOfPolling = 'Please use WebSocket Streams for live updates to avoid';

/** @param costs of one request for candles, and for the list. */
const binanceAt = (perMinute: number, costs: { readonly candles: number; readonly list: number }): Venue => ({
  exchange: 'binance',
  limit: {
    amount: perMinute,
    periodMs: minuteMs,
    kind: 'fixed',
    // The number of refusals is not documented; bans begin at two minutes.
    ban: { afterRefusals: 10, forMs: 2 * minuteMs },
  },
  headers: (used) => ({ 'x-mbx-used-weight': String(used), 'x-mbx-used-weight-1m': String(used) }),
  refuse: ({ isBan, inMs, freeAtMs }) => ({
    ...json(
      {
        code: -1003,
        msg: isBan
          ? `Way too much request weight used; IP banned until ${freeAtMs}. ${insteadOfPolling} bans.`
          : `Too much request weight used; current limit is ${perMinute} request weight per 1 MINUTE. ` +
            `${insteadOfPolling} polling the API.`,
      },
      isBan ? 418 : 429,
    ),
    headers: { 'retry-after': String(Math.ceil(inMs / 1000)) },
  }),
  failure: json({ code: -1000, msg: 'An unknown error occurred while processing the request.' }, 500),
  unknownPath: { status: 404, body: '' },
  routes: [
    { path: '/api/v3/klines', cost: costs.candles, answer: klines },
    { path: '/api/v3/exchangeInfo', cost: costs.list, answer: (request) => exchangeInfo(request, perMinute) },
  ],
});

export const binance = binanceAt(6000, { candles: 2, list: 20 });
/** github.com/binance-us/binance-us-api-docs, rest-api.md. It has the markets of the synthetic exchange `binance`. */
export const binanceUs = binanceAt(1200, { candles: 1, list: 10 });

function klines({ query, data, nowMs }: VenueRequest): VenueAnswer {
  const { symbol, interval: name } = query;
  if (symbol === undefined || symbol === '') return missing('symbol');
  if (!/^[A-Z0-9-_.]{1,20}$/.test(symbol)) return illegal('symbol', '^[A-Z0-9-_.]{1,20}$');
  if (name === undefined || name === '') return missing('interval');
  const interval = intervals[name];
  if (interval === undefined) return refused(-1120, 'Invalid interval.');
  for (const field of ['startTime', 'endTime', 'limit'])
    if (wholeOf(query[field] ?? '0') === null) return illegal(field, '^[0-9]{1,20}$');
  const market = data.markets.find(({ base, quote }) => base + quote === symbol);
  if (market === undefined) return refused(-1121, 'Invalid symbol.');

  const range = {
    startMs: Number(query.startTime ?? 0),
    // Inclusive, by the time at which a candle opens.
    endMs: Number(query.endTime ?? nowMs) + 1,
  };
  const limit = Math.min(Number(query.limit ?? defaultRows), maxRows);
  const keep = query.startTime === undefined ? 'newest' : 'oldest';
  return json(data.page(market, interval, range, { limit, keep }).map((row) => kline(row, interval)));
}

export function kline(row: Candle, interval: CandleInterval): (EpochMs | string)[] {
  const turnover = turnoverOf(row);
  return [
    row.period,
    row.open,
    row.high,
    row.low,
    row.close,
    row.volume,
    row.period + intervalMs[interval] - 1,
    turnover,
    // Trades and the takers' share are made up: no user reads them.
    1 + ((row.period / minuteMs) % 997),
    row.volume,
    turnover,
    '0',
  ];
}

function exchangeInfo({ query, data, nowMs }: VenueRequest, perMinute: number): VenueAnswer {
  const symbols = data.markets.map(({ base, quote }) => ({
    symbol: base + quote,
    status: 'TRADING',
    baseAsset: base,
    baseAssetPrecision: 8,
    quoteAsset: quote,
    quotePrecision: 8,
    quoteAssetPrecision: 8,
    orderTypes: ['LIMIT', 'MARKET'],
    isSpotTradingAllowed: true,
    isMarginTradingAllowed: false,
    filters: [],
    permissions: [],
    permissionSets: query.showPermissionSets === 'false' ? [] : [['SPOT']],
  }));
  const listed = query.symbol === undefined ? symbols : symbols.filter((row) => row.symbol === query.symbol);
  if (listed.length === 0) return refused(-1121, 'Invalid symbol.');
  return json({
    timezone: 'UTC',
    serverTime: nowMs,
    rateLimits: [{ rateLimitType: 'REQUEST_WEIGHT', interval: 'MINUTE', intervalNum: 1, limit: perMinute }],
    exchangeFilters: [],
    symbols: listed,
  });
}
