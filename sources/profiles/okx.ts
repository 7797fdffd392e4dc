/**
 * OKX's REST interface, version 5, for spot markets.
 *
 * Source: www.okx.com/docs-v5, "Get candlesticks history", "Get instruments" and "Error Code".
 */

import { fieldOf, textAt } from '../error-response.ts';
import { type RestExchange, type RestOffer, restExchange } from '../rest.ts';
import type { SourceErrorKind } from '../source-error.ts';
import { withQuery } from './profile.ts';

const limit = 300;

/**
 * Names of the intervals. From six hours on, a name without `utc` means periods that begin by Hong Kong's time.
 */
export const okxIntervals = {
  ...{ m1: '1m', m5: '5m', m15: '15m', m30: '30m', h1: '1H', h2: '2H', h4: '4H' },
  ...{ h12: '12Hutc', d1: '1Dutc', w1: '1Wutc' },
};

/** Codes of errors. A code that is not here is `unexpected` in a 200. */
const kinds = new Map<unknown, SourceErrorKind>([
  ['50001', 'server_error'],
  ['50004', 'server_error'],
  ['50011', 'rate_limited'],
  ['50013', 'server_error'],
  ['50014', 'refused'],
  ['50026', 'server_error'],
  ['50040', 'rate_limited'],
  ['50051', 'country_refused'],
  ['51000', 'refused'],
  ['51001', 'not_found'],
]);

/** What it says in the same way of all its markets. */
export const okxManners = {
  url: 'https://www.okx.com',
  exchange: 'okx',
  result: ({ code, data = null }) => (code === '0' ? data : undefined),
  states: (body) => ({ said: textAt(body, 'msg'), kind: kinds.get(fieldOf(body, 'code')) }),
} as const satisfies Partial<RestExchange>;

/** Candles of a path. */
export const okxCandles = (
  path: string,
  of: Pick<RestOffer, 'dataset' | 'values' | 'isClosed'> & Partial<Pick<RestOffer, 'maxRows' | 'turnover'>>,
  idOf = (symbol: string) => symbol,
): RestOffer => ({
  ...{ intervals: okxIntervals, maxRows: limit, time: 0 },
  // Both ends are exclusive, and named after the order of the pages, newest first.
  path: ({ symbol, interval: bar, startMs, endMs }) =>
    withQuery(path, {
      ...{ instId: idOf(symbol), bar, before: startMs - 1, after: endMs, limit: of.maxRows ?? limit },
    }),
  ...of,
});

/** The last column of a row. */
export const isConfirmed = (place: number) => (row: Readonly<Record<string | number, unknown>>) => row[place] !== '0';

export const okx = restExchange({
  ...okxManners,
  name: 'okx',
  // Of `history-candles`, which swaps have too.
  limits: [{ unit: 'request', amount: 20, periodMs: 2000, isShared: true }],
  offers: [
    okxCandles('/api/v5/market/history-candles', {
      // Of spot markets, 5 is the volume in the base asset. 6 and 7 are that in the quote asset.
      ...{ dataset: 'candles', values: { open: 1, high: 2, low: 3, close: 4, volume: 5 }, turnover: 7 },
      isClosed: isConfirmed(8),
    }),
  ],
  markets: {
    path: withQuery('/api/v5/public/instruments', { instType: 'SPOT' }),
    // Its `listTime` is later than its first candles: 2020-11-27 for BTC-USDT, which has candles of 2018.
    read: ({ instId: symbol, baseCcy: base, quoteCcy: quote, state }) => ({
      ...{ symbol, base, quote, isTrading: state === 'live' },
    }),
  },
});
