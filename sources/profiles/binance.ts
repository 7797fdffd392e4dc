/**
 * Binance's REST interface for spot markets.
 *
 * Source: developers.binance.com, "Market Data endpoints" (klines, exchangeInfo) and "General API Information" (limits,
 * 429, 418).
 */

import { dayMs, minuteMs } from '../../model/intervals.ts';
import type { HeaderLookup } from '../attempt.ts';
import { fieldOf, retryAt, textAt } from '../error-response.ts';
import { type RestExchange, restExchange } from '../rest.ts';
import { type Profile, withQuery } from './profile.ts';

/** Names of the intervals. */
export const intervals = {
  ...{ m1: '1m', m5: '5m', m15: '15m', m30: '30m', h1: '1h', h2: '2h', h4: '4h', h8: '8h', h12: '12h' },
  ...{ d1: '1d', w1: '1w' },
};

const limit = 1000;
/** A ban lasts from two minutes to three days. */
const longestPauseMs = 3 * dayMs;
/** Codes of errors: an unknown symbol, and too many requests. */
const unknownSymbol = -1121;
const tooMany = -1003;

/** What every address of Binance says in the same way. */
export const binanceManners = {
  longestPauseMs,
  keyHeaders: (key) => ({ 'x-mbx-apikey': key }),
  states(body, reply, nowMs) {
    const code = fieldOf(body, 'code');
    const said = textAt(body, 'msg');
    const isBan = reply.status === 418 || code === tooMany;
    const kind = isBan ? 'rate_limited' : code === unknownSymbol ? 'not_found' : undefined;
    return { said, kind, retryAtMs: retryAt(reply, nowMs, longestPauseMs) ?? bannedUntil(said ?? '', nowMs) };
  },
} as const satisfies Partial<RestExchange>;

/** Of the weight of the current minute. */
export function usedWeight(header: HeaderLookup): number | null {
  const used = header('x-mbx-used-weight-1m');
  return used !== undefined && /^\d{1,9}$/.test(used) ? Number(used) : null;
}

/** @param of.weights of a minute, of a request of candles and of one of the list of symbols. */
const spotMarkets = (
  of: Pick<RestExchange, 'name' | 'url' | 'otherUrls' | 'archive'> & {
    readonly weights: { readonly minute: number; readonly candles: number; readonly symbols: number };
    readonly symbolsPath: string;
  },
): Profile => {
  const { weights, symbolsPath, ...rest } = of;
  return restExchange({
    ...{ ...rest, ...binanceManners, used: usedWeight },
    limits: [{ unit: 'weight', amount: weights.minute, periodMs: minuteMs }],
    symbolOf: (base, quote) => base + quote,
    offers: [
      {
        ...{ dataset: 'candles', intervals, maxRows: limit, cost: weights.candles },
        // Its end is inclusive, by the time at which a candle opens.
        path: ({ symbol, interval, startMs, endMs }) =>
          withQuery('/api/v3/klines', { symbol, interval, startTime: startMs, endTime: endMs - 1, limit }),
        ...{ time: 0, values: { open: 1, high: 2, low: 3, close: 4, volume: 5 }, turnover: 7 },
      },
    ],
    markets: {
      ...{ path: symbolsPath, cost: weights.symbols },
      rows: ({ symbols }) => symbols,
      read: ({ symbol, baseAsset: base, quoteAsset: quote, status }) => ({
        ...{ symbol, base, quote, isTrading: status === 'TRADING' },
      }),
    },
  });
};

export const binance = spotMarkets({
  name: 'binance',
  // Its documentation, "Market Data Only URLs": the paths, weights and limits of https://api.binance.com, in more
  // countries.
  url: 'https://data-api.binance.vision',
  otherUrls: ['', '-gcp', 1, 2, 3, 4].map((name) => `https://api${name}.binance.com`),
  archive: 'binance-archive',
  weights: { minute: 6000, candles: 2, symbols: 20 },
  symbolsPath: '/api/v3/exchangeInfo?permissions=SPOT&showPermissionSets=false',
});

/**
 * Its own markets and limits, and no archive. Source: github.com/binance-us/binance-us-api-docs, rest-api.md of
 * 2023-09-06.
 */
export const binanceUs = spotMarkets({
  name: 'binance-us',
  url: 'https://api.binance.us',
  weights: { minute: 1200, candles: 1, symbols: 10 },
  symbolsPath: '/api/v3/exchangeInfo?permissions=SPOT',
});

/** `IP banned until [milliseconds since the epoch]` */
function bannedUntil(said: string, nowMs: number): number | undefined {
  const untilMs = Number(/banned until (\d{13})\b/.exec(said)?.[1] ?? 0);
  return untilMs > nowMs ? untilMs : undefined;
}
