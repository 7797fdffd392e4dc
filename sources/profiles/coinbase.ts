/**
 * Coinbase Exchange's REST interface. Coinbase Advanced is another one, with other paths and rows.
 *
 * Source: docs.cdp.coinbase.com/exchange, "Get product candles", "Get all trading pairs" and "REST Rate Limits".
 */

import { hourMs, intervalMs } from '../../model/intervals.ts';
import { parsedBody } from '../answer.ts';
import { jsonOrNull, textAt } from '../refusal.ts';
import { type Profile, rangesOf, withQuery } from './profile.ts';
import { candlesAnswer, intervalName, placedCandle, rangeOf, refusalOf, symbolOf, symbolsAnswer } from './venue.ts';

/** Lengths of the intervals, seconds. Six hours, the only other one, is no interval of candles here. */
const intervals = { m1: 60, m5: 300, m15: 900, h1: 3600, d1: 86_400 } as const;

/** It refuses a range that could hold more. */
const maxRows = 300;
const longestPauseMs = hourMs;

export const coinbase: Profile = {
  name: 'coinbase',
  url: 'https://api.exchange.coinbase.com',
  exchange: 'coinbase',
  limits: () => [{ unit: 'request', amount: 10, periodMs: 1000 }],
  longestRangeMs: { candles: rangesOf(maxRows, intervals, intervalMs), asset_history: {} },
  depthPeriods: null,
  files: null,
  // It publishes no row for a period without trades, and says that its history may be incomplete.
  absence: 'unknown',
  longestPauseMs,
  keyHeaders: () => ({}),
  refusal(reply, nowMs) {
    const said = textAt(jsonOrNull(reply.body.toString('utf8')), 'message');
    const isUnknown = reply.status === 404 && said === 'NotFound';
    return refusalOf(reply, { said, kind: isUnknown ? 'not_found' : undefined }, nowMs, longestPauseMs);
  },
  resources: {
    candles: {
      path(query) {
        const { startMs, endMs } = rangeOf(query);
        return withQuery(`/products/${encodeURIComponent(symbolOf(query))}/candles`, {
          granularity: intervalName(intervals, query),
          start: new Date(startMs).toISOString(),
          // Inclusive, by the time at which a candle opens: a second less excludes the next one.
          end: new Date(endMs - 1000).toISOString(),
        });
      },
      read: (reply, { interval }) =>
        candlesAnswer(
          reply,
          parsedBody(reply),
          placedCandle(interval, { time: 0, low: 1, high: 2, open: 3, close: 4, volume: 5 }, 1000),
        ),
    },
    symbols: {
      path: () => '/products',
      read: (reply) =>
        symbolsAnswer(reply, parsedBody(reply), (row) => ({
          symbol: row.id,
          base: row.base_currency,
          quote: row.quote_currency,
          listedMs: null,
          isTrading: row.status === 'online' && row.trading_disabled !== true,
        })),
    },
  },
};
