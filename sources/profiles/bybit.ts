/**
 * Bybit's REST interface, version 5, for spot markets.
 *
 * Source: bybit-exchange.github.io/docs/v5, "Get Kline", "Get Instruments Info", "Rate Limit Rules" and "Error Codes".
 */

import { minuteMs } from '../../model/intervals.ts';
import { isObject } from '../answer.ts';
import type { Reply } from '../attempt.ts';
import { fieldOf, kindOfReply, textAt } from '../error-response.ts';
import { type RestExchange, type RestOffer, restExchange } from '../rest.ts';
import type { SourceErrorKind } from '../source-error.ts';
import { withQuery } from './profile.ts';

const category = 'spot';
const limit = 1000;
/** A ban of an address that sent too many requests ends after ten minutes without any. */
const banMs = 10 * minuteMs;

/** Codes of errors. A code that is not here is `unexpected` in a 200. */
const kinds = new Map<unknown, SourceErrorKind>([
  [10000, 'server_error'],
  [10001, 'refused'],
  [10006, 'rate_limited'],
  [10009, 'rate_limited'],
  [10016, 'server_error'],
  [10018, 'rate_limited'],
  [10024, 'country_refused'],
  [10029, 'not_found'],
  [429, 'rate_limited'],
  [10429, 'rate_limited'],
  [170121, 'not_found'],
]);
/** Those that a ban follows: a banned address, and too many requests of one address. */
const banned: readonly unknown[] = [10009, 10018];

/** What it says in the same way of all its markets. */
export const bybitManners = {
  url: 'https://api.bybit.com',
  exchange: 'bybit',
  // Passing it is a ban, and spot markets and derivatives are two sources.
  limits: [{ unit: 'request', amount: 600, periodMs: 5000, isShared: true }],
  result: ({ retCode, result }) => (retCode === 0 && isObject(result) ? result : undefined),
  states(body, reply, nowMs) {
    const code = fieldOf(body, 'retCode');
    const said = textAt(body, 'retMsg');
    // It answers 403 to a banned address, and to one in a country that it does not serve.
    const isBan = banned.includes(code) || (!kinds.has(code) && kindOfReply(reply) === 'address_refused');
    const isUnknownSymbol = code === 10001 && /symbol/i.test(said ?? '');
    const kind = isBan ? 'rate_limited' : isUnknownSymbol ? 'not_found' : kinds.get(code);
    return { said, kind, retryAtMs: isBan ? nowMs + banMs : limitReset(reply, nowMs) };
  },
} as const satisfies Partial<RestExchange>;

/** Candles of a category of markets. @param of.values without the volume: its other columns. */
export const bybitCandles = (
  category: string,
  path: string,
  of: Pick<RestOffer, 'dataset'> & Partial<Pick<RestOffer, 'values' | 'turnover'>>,
): RestOffer => ({
  intervals: {
    ...{ m1: '1', m5: '5', m15: '15', m30: '30', h1: '60', h2: '120', h4: '240', h12: '720' },
    ...{ d1: 'D', w1: 'W' },
  },
  maxRows: limit,
  // Its end is inclusive, by the time at which a candle opens.
  path: ({ symbol, interval, startMs, endMs }) =>
    withQuery(path, { category, symbol, interval, start: startMs, end: endMs - 1, limit }),
  rows: ({ list }) => list,
  otherMarket: (result, symbol) =>
    result.category === category && result.symbol === symbol ? undefined : `${result.category} ${result.symbol}`,
  ...{ time: 0, values: { open: 1, high: 2, low: 3, close: 4 } },
  ...of,
});

export const tradedVolumes = { values: { open: 1, high: 2, low: 3, close: 4, volume: 5 }, turnover: 6 } as const;

export const bybit = restExchange({
  ...bybitManners,
  name: 'bybit',
  offers: [bybitCandles(category, '/v5/market/kline', { dataset: 'candles', ...tradedVolumes })],
  markets: {
    // Of spot markets it lists all at once.
    path: withQuery('/v5/market/instruments-info', { category }),
    rows: ({ list }) => list,
    read: ({ symbol, baseCoin: base, quoteCoin: quote, status }) => ({
      ...{ symbol, base, quote, isTrading: status === 'Trading' },
    }),
  },
});

/**
 * When the limit is free again, by a header in milliseconds. It holds the current time if the limit is not exceeded.
 */
function limitReset({ header }: Reply, nowMs: number): number | undefined {
  const resetMs = Number(/^\d{13}$/.exec(header('x-bapi-limit-reset-timestamp') ?? '')?.[0] ?? 0);
  return resetMs > nowMs ? resetMs : undefined;
}
