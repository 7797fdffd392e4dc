/**
 * Coinbase Exchange's REST interface. Coinbase Advanced is another one, with other paths and rows.
 *
 * Source: docs.cdp.coinbase.com/exchange, "Get product candles", "Get all trading pairs" and "REST Rate Limits".
 */

import { textAt } from '../error-response.ts';
import { restExchange } from '../rest.ts';
import { withQuery } from './profile.ts';

/** It publishes no row for a period without trades, and says that its history may be incomplete. */
export const coinbase = restExchange({
  name: 'coinbase',
  url: 'https://api.exchange.coinbase.com',
  limits: [{ unit: 'request', amount: 10, periodMs: 1000 }],
  states(body, reply) {
    const said = textAt(body, 'message');
    return { said, kind: reply.status === 404 && said === 'NotFound' ? 'not_found' : undefined };
  },
  offers: [
    {
      dataset: 'candles',
      // Lengths, seconds. Six hours, the only other one, is no interval of candles here.
      intervals: { m1: 60, m5: 300, m15: 900, h1: 3600, d1: 86_400 },
      // It refuses a range that could hold more.
      maxRows: 300,
      path: ({ symbol, interval: granularity, startMs, endMs }) =>
        withQuery(`/products/${encodeURIComponent(symbol)}/candles`, {
          granularity,
          start: new Date(startMs).toISOString(),
          // Inclusive, by the time at which a candle opens: a second less excludes the next one.
          end: new Date(endMs - 1000).toISOString(),
        }),
      ...{ time: 0, timeUnitMs: 1000, values: { low: 1, high: 2, open: 3, close: 4, volume: 5 } },
    },
  ],
  markets: {
    path: '/products',
    read: ({ id: symbol, base_currency: base, quote_currency: quote, status, trading_disabled }) => ({
      ...{ symbol, base, quote, isTrading: status === 'online' && trading_disabled !== true },
    }),
  },
});
