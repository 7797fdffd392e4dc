/**
 * OKX's REST interface, version 5, for spot markets.
 *
 * Source: www.okx.com/docs-v5, "Get candlesticks history", "Get instruments" and "Error Code".
 */

import { hourMs, intervalMs } from '../../model/intervals.ts';
import type { Reply } from '../attempt.ts';
import { fieldOf, jsonOrNull, textAt } from '../refusal.ts';
import type { SourceError, SourceErrorKind } from '../source-error.ts';
import { type Profile, rangesOf, withQuery } from './profile.ts';
import {
  candlesAnswer,
  intervalName,
  objectBody,
  placedCandle,
  rangeOf,
  refusalOf,
  symbolOf,
  symbolsAnswer,
} from './venue.ts';

/** Names of the intervals. From six hours on, a name without `utc` means periods that begin by Hong Kong's time. */
const intervals = {
  m1: '1m',
  m5: '5m',
  m15: '15m',
  m30: '30m',
  h1: '1H',
  h2: '2H',
  h4: '4H',
  h12: '12Hutc',
  d1: '1Dutc',
  w1: '1Wutc',
} as const;

const maxRows = 300;
const longestPauseMs = hourMs;

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

export const okx: Profile = {
  name: 'okx',
  url: 'https://www.okx.com',
  exchange: 'okx',
  limits: () => [{ unit: 'request', amount: 20, periodMs: 2000 }],
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
        return withQuery('/api/v5/market/history-candles', {
          instId: symbolOf(query),
          bar: intervalName(intervals, query),
          // Both exclusive, and named after the order of the pages, newest first.
          before: startMs - 1,
          after: endMs,
          limit: maxRows,
        });
      },
      read: (reply, { interval }, nowMs) =>
        candlesAnswer(
          reply,
          dataOf(reply, nowMs),
          // Of spot markets, 5 is the volume in the base asset. 6 and 7 are that in the quote asset.
          placedCandle(
            interval,
            {
              ...{ time: 0, open: 1, high: 2, low: 3, close: 4, volume: 5, turnover: 7 },
              // `confirm`
              isClosed: (row) => row[8] !== '0',
            },
            1,
          ),
        ),
    },
    symbols: {
      path: () => withQuery('/api/v5/public/instruments', { instType: 'SPOT' }),
      read: (reply, _, nowMs) =>
        symbolsAnswer(reply, dataOf(reply, nowMs), (row) => ({
          symbol: row.instId,
          base: row.baseCcy,
          quote: row.quoteCcy,
          // Its `listTime` is later than its first candles: 2020-11-27 for BTC-USDT, which has candles of 2018.
          listedMs: null,
          isTrading: row.state === 'live',
        })),
    },
  },
};

/** @throws SourceError for an answer with an error. */
function dataOf(reply: Reply, nowMs: number): unknown {
  const { code, data } = objectBody(reply);
  if (code === '0') return data;
  throw refusal(reply, nowMs);
}

function refusal(reply: Reply, nowMs: number): SourceError {
  const body = jsonOrNull(reply.body.toString('utf8'));
  const stated = { said: textAt(body, 'msg'), kind: kinds.get(fieldOf(body, 'code')) };
  return refusalOf(reply, stated, nowMs, longestPauseMs);
}
