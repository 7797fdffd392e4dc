/**
 * Binance's REST interface for spot markets.
 *
 * Source: developers.binance.com, "Market Data endpoints" (klines, exchangeInfo) and "General API Information" (limits, 429,
 * 418).
 */

import { dayMs, intervalMs, minuteMs } from '../../contract/intervals.ts';
import { parsedBody } from '../answer.ts';
import { fieldOf, jsonOrNull, textAt } from '../refusal.ts';
import { type Profile, rangesOf, withQuery } from './profile.ts';
import {
  candlesAnswer,
  objectBody,
  placedCandle,
  rangeOf,
  refusalOf,
  symbolOf,
  symbolsAnswer,
} from './venue.ts';

/** Names of the intervals. */
const intervals = {
  m1: '1m',
  m5: '5m',
  m15: '15m',
  m30: '30m',
  h1: '1h',
  h2: '2h',
  h4: '4h',
  h8: '8h',
  h12: '12h',
  d1: '1d',
  w1: '1w',
} as const;

const maxRows = 1000;
/** A ban lasts from two minutes to three days. */
const longestPauseMs = 3 * dayMs;
/** Codes of errors: an unknown symbol, and too many requests. */
const unknownSymbol = -1121;
const tooMany = -1003;

export const binance: Profile = {
  name: 'binance',
  url: 'https://api.binance.com',
  exchange: 'binance',
  limits: () => [{ unit: 'weight', amount: 6000, periodMs: minuteMs }],
  longestRangeMs: { candles: rangesOf(maxRows, intervals, intervalMs), asset_history: {} },
  depthPeriods: null,
  files: null,
  archive: 'binance-archive',
  absence: 'unknown',
  longestPauseMs,
  keyHeaders: (key) => ({ 'x-mbx-apikey': key }),
  used(header) {
    const used = header('x-mbx-used-weight-1m');
    return used !== undefined && /^\d{1,9}$/.test(used) ? Number(used) : null;
  },
  refusal(reply, nowMs) {
    const body = jsonOrNull(reply.body.toString('utf8'));
    const code = fieldOf(body, 'code');
    const kind =
      reply.status === 418 || code === tooMany
        ? 'rate_limited'
        : code === unknownSymbol
          ? 'not_found'
          : // The source does not serve this country: no request can succeed.
            reply.status === 451
            ? 'unauthorized'
            : undefined;
    return refusalOf(reply, { said: textAt(body, 'msg'), kind }, nowMs, longestPauseMs);
  },
  resources: {
    candles: {
      cost: 2,
      path(query) {
        const { startMs, endMs } = rangeOf(query);
        return withQuery('/api/v3/klines', {
          symbol: symbolOf(query),
          interval: intervals[query.interval],
          startTime: startMs,
          // Inclusive, by the time at which a candle opens.
          endTime: endMs - 1,
          limit: maxRows,
        });
      },
      read: (reply, { interval }) =>
        candlesAnswer(
          reply,
          parsedBody(reply),
          placedCandle(interval, { time: 0, open: 1, high: 2, low: 3, close: 4, volume: 5 }, 1),
        ),
    },
    symbols: {
      cost: 20,
      path: () => withQuery('/api/v3/exchangeInfo', { permissions: 'SPOT', showPermissionSets: false }),
      read: (reply) =>
        symbolsAnswer(reply, objectBody(reply).symbols, (row) => ({
          symbol: row.symbol,
          base: row.baseAsset,
          quote: row.quoteAsset,
          listedMs: null,
          isTrading: row.status === 'TRADING',
        })),
    },
  },
};
