/**
 * Kraken's REST interface for spot markets.
 *
 * Source: docs.kraken.com, "Get OHLC Data", "Get Tradable Asset Pairs", "REST rate limits" and "Errors".
 */

import { hourMs, intervalMs, minuteMs } from '../../model/intervals.ts';
import { isObject } from '../answer.ts';
import type { Reply } from '../attempt.ts';
import { fieldOf, jsonOrNull } from '../refusal.ts';
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

/** Names of the intervals, minutes. Its weeks (10080) begin on Thursdays, as the epoch does. */
const intervals = { m1: 1, m5: 5, m15: 15, m30: 30, h1: 60, h4: 240, d1: 1440 } as const;

/** The newest periods, the open one among them, whatever a request asks for. */
const depthPeriods = 721;
const longestPauseMs = hourMs;
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

export const kraken: Profile = {
  name: 'kraken',
  url: 'https://api.kraken.com',
  exchange: 'kraken',
  // One a second is refused now and then.
  limits: () => [{ unit: 'request', amount: 1, periodMs: 1200 }],
  longestRangeMs: { candles: rangesOf(depthPeriods, intervals, intervalMs), asset_history: {} },
  depthPeriods,
  files: null,
  absence: 'unknown',
  longestPauseMs,
  keyHeaders: () => ({}),
  refusal,
  resources: {
    candles: {
      path(query) {
        const since = rangeOf(query).startMs / 1000;
        // Exclusive. The answer ends with the open period, wherever the window ends.
        return withQuery('/0/public/OHLC', {
          pair: symbolOf(query),
          interval: intervalName(intervals, query),
          since: since - 1,
        });
      },
      read(reply, query, nowMs) {
        const { last, ...lists } = resultOf(reply, nowMs);
        const [[name, rows] = ['', null], ...others] = Object.entries(lists);
        const asked = symbolOf(query);
        if (name !== '') assertMarket(reply, asked, others.length === 0 && isNameOf(name, asked), Object.keys(lists));
        const places = { time: 0, open: 1, high: 2, low: 3, close: 4, volume: 6 };
        // `last` is the time of the newest candle that is closed.
        const isClosed = ({ 0: time }: Readonly<Record<number, unknown>>) => !(Number(time) > Number(last));
        return candlesAnswer(reply, rows, placedCandle(query.interval, { ...places, isClosed }, 1000));
      },
    },
    symbols: {
      path: () => '/0/public/AssetPairs',
      read(reply, _, nowMs) {
        // Dark pools have no candles.
        const pairs = Object.entries(resultOf(reply, nowMs)).filter(([name]) => !name.endsWith('.d'));
        return symbolsAnswer(
          reply,
          pairs.map(([, pair]) => pair),
          ({ altname, wsname, status }) => {
            const [base, quote] = String(wsname).split('/').map(codeOf);
            return { symbol: altname, base, quote, listedMs: null, isTrading: status === 'online' };
          },
        );
      },
    },
  },
};

/** Whether an answer's name is that of the requested market: `XXBTZUSD` of `XBTUSD`, with X before coins and Z before currencies. */
function isNameOf(name: string, asked: string): boolean {
  const marks = ['', 'X', 'Z'];
  const cuts = Array.from(asked, (_, at) => [asked.slice(0, at), asked.slice(at)] as const);
  const names = cuts.flatMap(([base, quote]) =>
    marks.flatMap((first) => marks.map((second) => first + base + second + quote)),
  );
  return names.includes(name);
}

function codeOf(code: string): string {
  return codes.get(code) ?? code;
}

/** @throws SourceError for an answer with an error, or without a result. */
function resultOf(reply: Reply, nowMs: number): Record<string, unknown> {
  const body = objectBody(reply);
  if (Array.isArray(body.error) && errorsOf(body).length === 0 && isObject(body.result)) return body.result;
  throw refusal(reply, nowMs);
}

/** `E` begins an error, `W` a warning. */
function errorsOf(body: unknown): string[] {
  const error = fieldOf(body, 'error');
  return Array.isArray(error) ? error.map(String).filter((text) => !text.startsWith('W')) : [];
}

function refusal(reply: Reply, nowMs: number): SourceError {
  const errors = errorsOf(jsonOrNull(reply.body.toString('utf8')));
  const said = errors.length === 0 ? null : errors.join(', ');
  const kind = kinds.find(([pattern]) => errors.some((error) => pattern.test(error)))?.[1];
  const retryAtMs = errors.some((error) => error.includes('Temporary lockout'))
    ? nowMs + lockoutMs
    : throttledUntil(said ?? '', nowMs);
  return refusalOf(reply, { said, kind, retryAtMs }, nowMs, longestPauseMs);
}

/** `EService:Throttled: [seconds since the epoch]` */
function throttledUntil(said: string, nowMs: number): number | undefined {
  const untilMs = Number(/Throttled:\s*(\d{10})\b/.exec(said)?.[1] ?? 0) * 1000;
  return untilMs > nowMs ? untilMs : undefined;
}
