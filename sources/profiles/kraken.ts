/**
 * Kraken's REST interface for spot markets.
 *
 * Source: docs.kraken.com, "Get OHLC Data", "Get Tradable Asset Pairs", "REST rate limits" and "Errors".
 */

import { minuteMs } from '../../model/intervals.ts';
import { isObject } from '../answer.ts';
import { fieldOf } from '../error-response.ts';
import { restExchange } from '../rest.ts';
import type { SourceErrorKind } from '../source-error.ts';
import { withQuery } from './profile.ts';

/** The newest periods, the open one among them, whatever a request asks for. */
const periods = 721;
/** A temporary lockout lasts a quarter of an hour. */
const lockoutMs = 15 * minuteMs;

/** Kinds of errors. An error that none matches is `unexpected`. */
const kinds: readonly (readonly [RegExp, SourceErrorKind])[] = [
  [/Rate limit exceeded|Too many requests|Temporary lockout|Throttled/, 'rate_limited'],
  [/^EQuery:(?:Unknown|Invalid) asset pair/, 'not_found'],
  [/^EService:|Internal error/, 'server_error'],
  [/Permission denied|^EAPI:|^EAuth:/, 'unauthorized'],
  [/^EQuery:|^EGeneral:(?:Invalid arguments|Unknown method)/, 'refused'],
];

/** Kraken's own codes of assets. All others are the usual ones. */
const codes = new Map([
  ['XBT', 'BTC'],
  ['XDG', 'DOGE'],
]);

export const kraken = restExchange({
  name: 'kraken',
  url: 'https://api.kraken.com',
  // One a second is refused now and then.
  limits: [{ unit: 'request', amount: 1, periodMs: 1200 }],
  result: ({ error, result }) =>
    Array.isArray(error) && errorsOf(error).length === 0 && isObject(result) ? result : undefined,
  states(body, _, nowMs) {
    const errors = errorsOf(fieldOf(body, 'error'));
    const said = errors.length === 0 ? null : errors.join(', ');
    const isLockedOut = errors.some((error) => error.includes('Temporary lockout'));
    return {
      said,
      kind: kinds.find(([pattern]) => errors.some((error) => pattern.test(error)))?.[1],
      retryAtMs: isLockedOut ? nowMs + lockoutMs : throttledUntil(said ?? '', nowMs),
    };
  },
  offers: [
    {
      dataset: 'candles',
      // Minutes. Its weeks (10080) begin on Thursdays, as the epoch does.
      intervals: { m1: 1, m5: 5, m15: 15, m30: 30, h1: 60, h4: 240, d1: 1440 },
      ...{ maxRows: periods, depth: { periods } },
      // Exclusive, in seconds. The answer ends with the open period, wherever the window ends.
      path: ({ symbol: pair, interval, startMs }) =>
        withQuery('/0/public/OHLC', { pair, interval, since: startMs / 1000 - 1 }),
      rows: ({ last: _, ...lists }) => Object.values(lists)[0],
      otherMarket({ last: _, ...lists }, symbol) {
        const [name, ...others] = Object.keys(lists);
        const isAsked = name === undefined || (others.length === 0 && isNameOf(name, symbol));
        return isAsked ? undefined : Object.keys(lists);
      },
      ...{ time: 0, timeUnitMs: 1000, values: { open: 1, high: 2, low: 3, close: 4, volume: 6 } },
      // `last` is the time of the newest candle that is closed.
      isClosed: (row, { last }) => !(Number(row[0]) > Number(last)),
    },
  ],
  markets: {
    path: '/0/public/AssetPairs',
    // Dark pools have no candles.
    rows: (pairs) => Object.entries(pairs).flatMap(([name, pair]) => (name.endsWith('.d') ? [] : [pair])),
    read({ altname: symbol, wsname, status }) {
      const [base, quote] = String(wsname)
        .split('/')
        .map((code) => codes.get(code) ?? code);
      return { symbol, base, quote, isTrading: status === 'online' };
    },
  },
});

/**
 * Whether an answer's name is that of the requested market: `XXBTZUSD` of `XBTUSD`, with X before coins and Z before
 * currencies.
 */
function isNameOf(name: string, asked: string): boolean {
  const marks = ['', 'X', 'Z'];
  const cuts = Array.from(asked, (_, at) => [asked.slice(0, at), asked.slice(at)] as const);
  const names = cuts.flatMap(([base, quote]) =>
    marks.flatMap((first) => marks.map((second) => first + base + second + quote)),
  );
  return names.includes(name);
}

/** `E` begins an error, `W` a warning. */
function errorsOf(error: unknown): string[] {
  return Array.isArray(error) ? error.map(String).filter((text) => !text.startsWith('W')) : [];
}

/** `EService:Throttled: [seconds since the epoch]` */
function throttledUntil(said: string, nowMs: number): number | undefined {
  const untilMs = Number(/Throttled:\s*(\d{10})\b/.exec(said)?.[1] ?? 0) * 1000;
  return untilMs > nowMs ? untilMs : undefined;
}
