/**
 * Bybit's REST interface, version 5, for spot markets.
 *
 * Source: bybit-exchange.github.io/docs/v5, "Get Kline", "Get Instruments Info", "Rate Limit Rules" and "Error Codes".
 */

import { hourMs, intervalMs, minuteMs } from '../../model/intervals.ts';
import { isObject } from '../answer.ts';
import type { Reply } from '../attempt.ts';
import { fieldOf, jsonOrNull, kindOfReply, textAt } from '../refusal.ts';
import type { SourceError, SourceErrorKind } from '../source-error.ts';
import { type Profile, rangesOf, withQuery } from './profile.ts';
import {
  assertMarket,
  candlesAnswer,
  intervalName,
  objectBody,
  placedCandle,
  rangeOf,
  refusalOf,
  symbolOf,
  symbolsAnswer,
} from './venue.ts';

/** Names of the intervals. */
const intervals = {
  m1: '1',
  m5: '5',
  m15: '15',
  m30: '30',
  h1: '60',
  h2: '120',
  h4: '240',
  h12: '720',
  d1: 'D',
  w1: 'W',
} as const;

const maxRows = 1000;
const longestPauseMs = hourMs;
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

export const bybit: Profile = {
  name: 'bybit',
  url: 'https://api.bybit.com',
  exchange: 'bybit',
  limits: () => [{ unit: 'request', amount: 600, periodMs: 5000 }],
  longestRangeMs: { candles: rangesOf(maxRows, intervals, intervalMs), asset_history: {} },
  depthPeriods: null,
  files: null,
  absence: 'unknown',
  longestPauseMs,
  keyHeaders: () => ({}),
  refusal,
  resources: {
    candles: {
      path(query) {
        const { startMs, endMs } = rangeOf(query);
        return withQuery('/v5/market/kline', {
          category: 'spot',
          symbol: symbolOf(query),
          interval: intervalName(intervals, query),
          start: startMs,
          // Inclusive, by the time at which a candle opens.
          end: endMs - 1,
          limit: maxRows,
        });
      },
      read(reply, query, nowMs) {
        const { category, symbol, list } = resultOf(reply, nowMs);
        const asked = symbolOf(query);
        assertMarket(reply, asked, category === 'spot' && symbol === asked, `${category} ${symbol}`);
        const places = { time: 0, open: 1, high: 2, low: 3, close: 4, volume: 5, turnover: 6 };
        return candlesAnswer(reply, list, placedCandle(query.interval, places, 1));
      },
    },
    symbols: {
      // Of spot markets it lists all at once.
      path: () => withQuery('/v5/market/instruments-info', { category: 'spot' }),
      read: (reply, _, nowMs) =>
        symbolsAnswer(reply, resultOf(reply, nowMs).list, (row) => ({
          symbol: row.symbol,
          base: row.baseCoin,
          quote: row.quoteCoin,
          listedMs: null,
          isTrading: row.status === 'Trading',
        })),
    },
  },
};

/** @throws SourceError for an answer with an error, or without a result. */
function resultOf(reply: Reply, nowMs: number): Record<string, unknown> {
  const { retCode, result } = objectBody(reply);
  if (retCode === 0 && isObject(result)) return result;
  throw refusal(reply, nowMs);
}

function refusal(reply: Reply, nowMs: number): SourceError {
  const body = jsonOrNull(reply.body.toString('utf8'));
  const code = fieldOf(body, 'retCode');
  const said = textAt(body, 'retMsg');
  // It answers 403 to a banned address, and to one in a country that it does not serve.
  const isBan = banned.includes(code) || (!kinds.has(code) && kindOfReply(reply) === 'address_refused');
  const isUnknownSymbol = code === 10001 && /symbol/i.test(said ?? '');
  const kind = isBan ? 'rate_limited' : isUnknownSymbol ? 'not_found' : kinds.get(code);
  const retryAtMs = isBan ? nowMs + banMs : limitReset(reply, nowMs);
  return refusalOf(reply, { said, kind, retryAtMs }, nowMs, longestPauseMs);
}

/** When the limit is free again, by a header in milliseconds. It holds the current time if the limit is not exceeded. */
function limitReset({ header }: Reply, nowMs: number): number | undefined {
  const resetMs = Number(/^\d{13}$/.exec(header('x-bapi-limit-reset-timestamp') ?? '')?.[0] ?? 0);
  return resetMs > nowMs ? resetMs : undefined;
}
