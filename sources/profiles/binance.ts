/**
 * Binance's REST interface for spot markets.
 *
 * Source: developers.binance.com, "Market Data endpoints" (klines, exchangeInfo) and "General API Information" (limits, 429,
 * 418).
 */

import { dayMs, intervalMs, minuteMs } from '../../model/intervals.ts';
import { parsedBody } from '../answer.ts';
import { fieldOf, jsonOrNull, retryAt, textAt } from '../refusal.ts';
import { type Profile, rangesOf, withQuery } from './profile.ts';
import { candlesAnswer, objectBody, placedCandle, rangeOf, refusalOf, symbolOf, symbolsAnswer } from './venue.ts';

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

/** @param of.weights of a minute, of a request of candles and of one of the list of symbols. */
const spotMarkets = (
  of: Pick<Profile, 'url' | 'otherUrls' | 'archive'> & {
    readonly name: string;
    readonly weights: { readonly minute: number; readonly candles: number; readonly symbols: number };
    readonly symbolsPath: string;
  },
): Profile => ({
  ...{ name: of.name, url: of.url, exchange: of.name },
  ...(of.otherUrls !== undefined && { otherUrls: of.otherUrls }),
  ...(of.archive !== undefined && { archive: of.archive }),
  limits: () => [{ unit: 'weight', amount: of.weights.minute, periodMs: minuteMs }],
  longestRangeMs: { candles: rangesOf(maxRows, intervals, intervalMs), asset_history: {} },
  depthPeriods: null,
  files: null,
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
    const said = textAt(body, 'msg');
    const isBan = reply.status === 418 || code === tooMany;
    const kind = isBan ? 'rate_limited' : code === unknownSymbol ? 'not_found' : undefined;
    const retryAtMs = retryAt(reply, nowMs, longestPauseMs) ?? bannedUntil(said ?? '', nowMs);
    return refusalOf(reply, { said, kind, retryAtMs }, nowMs, longestPauseMs);
  },
  symbolOf: (base, quote) => base + quote,
  resources: {
    candles: {
      cost: of.weights.candles,
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
          placedCandle(interval, { time: 0, open: 1, high: 2, low: 3, close: 4, volume: 5, turnover: 7 }, 1),
        ),
    },
    symbols: {
      cost: of.weights.symbols,
      path: () => of.symbolsPath,
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
});

export const binance = spotMarkets({
  name: 'binance',
  // Its documentation, "Market Data Only URLs": the paths, weights and limits of https://api.binance.com, in more countries.
  url: 'https://data-api.binance.vision',
  otherUrls: ['', '-gcp', 1, 2, 3, 4].map((name) => `https://api${name}.binance.com`),
  archive: 'binance-archive',
  weights: { minute: 6000, candles: 2, symbols: 20 },
  symbolsPath: '/api/v3/exchangeInfo?permissions=SPOT&showPermissionSets=false',
});

/** Its own markets and limits, and no archive. Source: github.com/binance-us/binance-us-api-docs, rest-api.md of 2023-09-06. */
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
