/** Errors as the venues document them. Bodies are written after the documentation. */

import { describe, expect, test } from 'vitest';
import type { SourceErrorKind } from '../../../source/source-error.ts';
import { failureOf, nowMs } from '../failure-at.ts';
import { market, symbols, venueAt } from './venue-at.ts';

const second = 1000;
const minute = 60 * second;
const day = 1440 * minute;

interface Case {
  readonly name: string;
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
  readonly kind: SourceErrorKind;
  /** Pause after `rate_limited`, milliseconds. */
  readonly waitMs?: number;
  readonly unknownId?: boolean;
  readonly said: RegExp;
}

const binanceError = (code: number, msg: string) => ({ code, msg });
const krakenError = (...error: string[]) => ({ error });
const bybitError = (retCode: number, retMsg: string) => ({ retCode, retMsg, result: {}, retExtInfo: {} });
const okxError = (code: string, msg: string) => ({ code, msg, data: [] });

const cases: readonly Case[] = [
  {
    name: 'binance',
    status: 400,
    body: binanceError(-1121, 'Invalid symbol.'),
    kind: 'not_found',
    unknownId: true,
    said: /Invalid symbol/,
  },
  {
    name: 'binance',
    status: 400,
    body: binanceError(-1100, 'Illegal characters found in a parameter.'),
    kind: 'refused',
    said: /Illegal characters/,
  },
  {
    name: 'binance',
    status: 429,
    body: binanceError(-1003, 'Too much request weight used.'),
    headers: { 'retry-after': '17' },
    kind: 'rate_limited',
    waitMs: 17 * second,
    said: /request weight/,
  },
  {
    name: 'binance',
    status: 418,
    body: '',
    headers: { 'retry-after': String((9 * day) / second) },
    kind: 'rate_limited',
    waitMs: 3 * day,
    said: /status 418/,
  },
  {
    name: 'binance',
    status: 451,
    body: binanceError(0, 'Service unavailable from a restricted location.'),
    kind: 'unauthorized',
    said: /restricted location/,
  },
  {
    name: 'binance',
    status: 503,
    body: binanceError(-1008, 'Server is busy.'),
    kind: 'server_error',
    said: /busy/,
  },
  {
    name: 'kraken',
    status: 200,
    body: krakenError('EQuery:Unknown asset pair'),
    kind: 'not_found',
    unknownId: true,
    said: /Unknown asset pair/,
  },
  {
    name: 'kraken',
    status: 200,
    body: krakenError('EGeneral:Too many requests'),
    kind: 'rate_limited',
    waitMs: minute,
    said: /Too many requests/,
  },
  {
    name: 'kraken',
    status: 200,
    body: krakenError(`EService:Throttled: ${nowMs / second + 42}`),
    kind: 'rate_limited',
    waitMs: 42 * second,
    said: /Throttled/,
  },
  {
    name: 'kraken',
    status: 200,
    body: krakenError('EGeneral:Temporary lockout'),
    kind: 'rate_limited',
    waitMs: 15 * minute,
    said: /lockout/,
  },
  {
    name: 'kraken',
    status: 200,
    body: krakenError('WGeneral:Notice', 'EService:Busy'),
    kind: 'server_error',
    said: /: EService:Busy$/,
  },
  {
    name: 'kraken',
    status: 200,
    body: krakenError('EGeneral:Invalid arguments'),
    kind: 'refused',
    said: /Invalid arguments/,
  },
  {
    name: 'kraken',
    status: 200,
    body: krakenError('EGeneral:Permission denied'),
    kind: 'unauthorized',
    said: /Permission/,
  },
  {
    name: 'kraken',
    status: 200,
    body: krakenError('EGeneral:Something new'),
    kind: 'unexpected',
    said: /Something new/,
  },
  {
    name: 'coinbase',
    status: 404,
    body: { message: 'NotFound' },
    kind: 'not_found',
    unknownId: true,
    said: /NotFound/,
  },
  {
    name: 'coinbase',
    status: 429,
    body: { message: 'Public rate limit exceeded' },
    kind: 'rate_limited',
    waitMs: minute,
    said: /rate limit exceeded/,
  },
  {
    name: 'coinbase',
    status: 400,
    body: { message: 'granularity too small for the requested time range' },
    kind: 'refused',
    said: /granularity too small/,
  },
  {
    name: 'coinbase',
    status: 500,
    body: { message: 'Internal server error' },
    kind: 'server_error',
    said: /Internal/,
  },
  {
    name: 'bybit',
    status: 200,
    body: bybitError(10001, 'Not supported symbols'),
    kind: 'not_found',
    unknownId: true,
    said: /Not supported symbols/,
  },
  {
    name: 'bybit',
    status: 200,
    body: bybitError(10001, 'Invalid period!'),
    kind: 'refused',
    said: /Invalid period/,
  },
  {
    name: 'bybit',
    status: 200,
    body: bybitError(10006, 'Too many visits!'),
    headers: { 'x-bapi-limit-reset-timestamp': String(nowMs + 1234) },
    kind: 'rate_limited',
    waitMs: 1234,
    said: /Too many visits/,
  },
  {
    name: 'bybit',
    status: 200,
    body: bybitError(10018, 'Exceeded the IP Rate Limit.'),
    kind: 'rate_limited',
    waitMs: 10 * minute,
    said: /IP Rate Limit/,
  },
  {
    name: 'bybit',
    status: 403,
    body: '403, access too frequent',
    kind: 'rate_limited',
    waitMs: 10 * minute,
    said: /too frequent/,
  },
  {
    name: 'bybit',
    status: 403,
    body: 'The Amazon CloudFront distribution is configured to block access from your country.',
    kind: 'unauthorized',
    said: /your country/,
  },
  {
    name: 'bybit',
    status: 200,
    body: bybitError(10016, 'Server error'),
    kind: 'server_error',
    said: /Server error/,
  },
  {
    name: 'bybit',
    status: 200,
    body: bybitError(99999, 'Something new'),
    kind: 'unexpected',
    said: /Something new/,
  },
  {
    name: 'okx',
    status: 429,
    body: okxError('50011', 'Rate limit reached.'),
    kind: 'rate_limited',
    waitMs: minute,
    said: /Rate limit reached/,
  },
  {
    name: 'okx',
    status: 200,
    body: okxError('51001', "Instrument ID doesn't exist."),
    kind: 'not_found',
    unknownId: true,
    said: /Instrument ID/,
  },
  {
    name: 'okx',
    status: 400,
    body: okxError('51000', 'Parameter bar error'),
    kind: 'refused',
    said: /Parameter bar/,
  },
  {
    name: 'okx',
    status: 200,
    body: okxError('50001', 'Service temporarily unavailable.'),
    kind: 'server_error',
    said: /unavailable/,
  },
  {
    name: 'okx',
    status: 200,
    body: okxError('99999', 'Something new'),
    kind: 'unexpected',
    said: /Something new/,
  },
];

test.each(cases)(
  '$name: $status $body is $kind',
  async ({ name, status, body, headers = {}, ...expected }) => {
    const { server, source } = await venueAt(name, body, { status, headers });
    const error = await failureOf(source, (it) => it.candles({ ...market(name), interval: 'm1' }));
    expect(error).toMatchObject({
      kind: expected.kind,
      status,
      unknownId: expected.unknownId ?? false,
      retryAtMs: expected.waitMs === undefined ? null : nowMs + expected.waitMs,
    });
    expect(error.message).toMatch(expected.said);
    expect(server.requests).toHaveLength(1);
  },
);

describe.each(Object.keys(symbols))('%s', (name) => {
  test('has documented errors in the table', () => {
    const kinds = cases.filter((one) => one.name === name).map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['not_found', 'rate_limited', 'refused', 'server_error']));
  });

  test.each(['candles', 'symbols'] as const)(
    'a body of %s with another shape is unexpected',
    async (what) => {
      for (const body of [
        '<html>maintenance</html>',
        '',
        '{}',
        '{"error":[],"result":null}',
        '{"retCode":0,"retMsg":"OK","result":{"list":null}}',
        '{"code":"0","msg":"","data":null}',
        '{"symbols":{}}',
      ]) {
        const { source } = await venueAt(name, body);
        const error = await failureOf(source, (it) =>
          what === 'symbols' ? it.symbols() : it.candles({ ...market(name), interval: 'm1' }),
        );
        expect([body, error.kind, error.unknownId, error.retryAtMs]).toEqual([
          body,
          'unexpected',
          false,
          null,
        ]);
      }
    },
  );

  test('a 404 of a gateway does not make a market unknown', async () => {
    const { source } = await venueAt(name, '<h1>404 page not found</h1>', { status: 404 });
    const error = await failureOf(source, (it) => it.candles({ ...market(name), interval: 'm1' }));
    expect(error).toMatchObject({ kind: 'not_found', unknownId: false });
  });
});

test('kraken: candles of two markets are unexpected', async () => {
  const row = [nowMs / 1000, '1', '1', '1', '1', '1', '1', 1];
  const { source } = await venueAt('kraken', { error: [], result: { A: [row], B: [row], last: 1 } });
  const error = await failureOf(source, (it) => it.candles({ ...market('kraken'), interval: 'm1' }));
  expect(error.kind).toBe('unexpected');
});

test.each([
  [401, { error: 'invalid API key' }, 'unauthorized', null],
  [404, { error: 'asdf not found', timestamp: 1 }, 'not_found', null],
  [429, 'You exceeded your limit', 'rate_limited', nowMs + minute],
  [503, '', 'server_error', null],
] as const)('coincap-v3: %i %j is %s', async (status, body, kind, retryAtMs) => {
  const { source } = await venueAt('coincap-v3', body, { status });
  const error = await failureOf(source, (it) => it.assetHistory('asdf', { interval: 'h1' }));
  expect(error).toMatchObject({ kind, retryAtMs });
});
