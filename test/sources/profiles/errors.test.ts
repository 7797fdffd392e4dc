/** Errors as the venues document them. Bodies are written after the documentation. */

import { describe, expect, test } from 'vitest';
import type { SourceErrorKind } from '../../../sources/source-error.ts';
import { failureOf, nowMs } from '../failure-at.ts';
import { candlesAt, historyAt } from '../points-at.ts';
import { market, symbols, venueAt } from './venue-at.ts';

const second = 1000;
const minute = 60 * second;
const day = 1440 * minute;

type Case = [
  name: string,
  status: number,
  body: unknown,
  kind: SourceErrorKind,
  said: RegExp,
  /** @param waitMs until the source accepts requests again, as it states. */
  more?: { readonly headers?: Record<string, string>; readonly waitMs?: number; readonly unknownId?: boolean },
];

const binanceError = (code: number, msg: string) => ({ code, msg });
const krakenError = (...error: string[]) => ({ error });
const bybitError = (retCode: number, retMsg: string) => ({ retCode, retMsg, result: {}, retExtInfo: {} });
const okxError = (code: string, msg: string) => ({ code, msg, data: [] });

const firewall =
  '<!DOCTYPE html><html><head><title>ERROR: The request could not be satisfied</title><style>p { color: red }</style></head><body>\n<h1>403&nbsp;ERROR</h1><p>Request blocked.</p></body></html>';

const cases: readonly Case[] = [
  ['binance', 400, binanceError(-1121, 'Invalid symbol.'), 'not_found', /Invalid symbol/, { unknownId: true }],
  ['binance', 400, binanceError(-1100, 'Illegal characters found in a parameter.'), 'refused', /Illegal characters/],
  [
    'binance',
    429,
    binanceError(-1003, 'Too much request weight used.'),
    'rate_limited',
    /request weight/,
    { headers: { 'retry-after': '17' }, waitMs: 17 * second },
  ],
  [
    'binance',
    418,
    '',
    'rate_limited',
    /status 418/,
    { headers: { 'retry-after': String((9 * day) / second) }, waitMs: 3 * day },
  ],
  [
    'binance',
    451,
    binanceError(0, 'Service unavailable from a restricted location.'),
    'country_refused',
    /restricted location/,
  ],
  ['binance', 503, binanceError(-1008, 'Server is busy.'), 'server_error', /busy/],
  ['kraken', 200, krakenError('EQuery:Unknown asset pair'), 'not_found', /Unknown asset pair/, { unknownId: true }],
  ['kraken', 200, krakenError('EGeneral:Too many requests'), 'rate_limited', /Too many requests/],
  [
    'kraken',
    200,
    krakenError(`EService:Throttled: ${nowMs / second + 42}`),
    'rate_limited',
    /Throttled/,
    { waitMs: 42 * second },
  ],
  ['kraken', 200, krakenError('EGeneral:Temporary lockout'), 'rate_limited', /lockout/, { waitMs: 15 * minute }],
  ['kraken', 200, krakenError('WGeneral:Notice', 'EService:Busy'), 'server_error', /: EService:Busy$/],
  ['kraken', 200, krakenError('EGeneral:Invalid arguments'), 'refused', /Invalid arguments/],
  ['kraken', 200, krakenError('EGeneral:Permission denied'), 'unauthorized', /Permission/],
  ['kraken', 200, krakenError('EGeneral:Something new'), 'unexpected', /Something new/],
  ['coinbase', 404, { message: 'NotFound' }, 'not_found', /NotFound/, { unknownId: true }],
  ['coinbase', 429, { message: 'Public rate limit exceeded' }, 'rate_limited', /rate limit exceeded/],
  [
    'coinbase',
    400,
    { message: 'granularity too small for the requested time range' },
    'refused',
    /granularity too small/,
  ],
  ['coinbase', 500, { message: 'Internal server error' }, 'server_error', /Internal/],
  ['bybit', 200, bybitError(10001, 'Not supported symbols'), 'not_found', /Not supported symbols/, { unknownId: true }],
  ['bybit', 200, bybitError(10001, 'Invalid period!'), 'refused', /Invalid period/],
  [
    'bybit',
    200,
    bybitError(10006, 'Too many visits!'),
    'rate_limited',
    /Too many visits/,
    { headers: { 'x-bapi-limit-reset-timestamp': String(nowMs + 1234) }, waitMs: 1234 },
  ],
  [
    'bybit',
    200,
    bybitError(10018, 'Exceeded the IP Rate Limit.'),
    'rate_limited',
    /IP Rate Limit/,
    { waitMs: 10 * minute },
  ],
  ['bybit', 403, '403, access too frequent', 'rate_limited', /too frequent/, { waitMs: 10 * minute }],
  [
    'bybit',
    403,
    'The Amazon CloudFront distribution is configured to block access from your country.',
    'country_refused',
    /your country/,
  ],
  ['bybit', 200, bybitError(10016, 'Server error'), 'server_error', /Server error/],
  ['bybit', 200, bybitError(99999, 'Something new'), 'unexpected', /Something new/],
  ['okx', 429, okxError('50011', 'Rate limit reached.'), 'rate_limited', /Rate limit reached/],
  ['okx', 200, okxError('51001', "Instrument ID doesn't exist."), 'not_found', /Instrument ID/, { unknownId: true }],
  ['okx', 400, okxError('51000', 'Parameter bar error'), 'refused', /Parameter bar/],
  ['okx', 200, okxError('50001', 'Service temporarily unavailable.'), 'server_error', /unavailable/],
  ['okx', 200, okxError('99999', 'Something new'), 'unexpected', /Something new/],
  [
    'binance',
    418,
    binanceError(-1003, `Way too much request weight used; IP banned until ${nowMs + 77 * minute}.`),
    'rate_limited',
    /banned until/,
    { waitMs: 77 * minute },
  ],
  // A page of a firewall, in its words.
  ...['binance', 'kraken', 'coinbase', 'okx'].map(
    (name): Case => [
      ...([name, 403, firewall, 'address_refused'] as const),
      /status 403: ERROR: The request could not be satisfied 403 ERROR Request blocked\.$/,
    ],
  ),
  ['bybit', 200, bybitError(10029, 'The requested symbol is invalid'), 'not_found', /symbol/, { unknownId: true }],
  ['bybit', 200, bybitError(429, 'System level frequency protection'), 'rate_limited', /frequency/],
  ['bybit', 200, bybitError(10024, 'Compliance rules triggered'), 'country_refused', /Compliance/],
  ['okx', 200, okxError('50040', 'Too frequent operations.'), 'rate_limited', /frequent/],
  ['okx', 200, okxError('50051', 'Not available in your country.'), 'country_refused', /country/],
  ['coinbase', 503, '', 'server_error', /503/, { headers: { 'retry-after': '30' }, waitMs: 30 * second }],
];

// Binance.US documents the same errors.
/** Profiles of the same words. */
const alike: Readonly<Record<string, readonly string[]>> = {
  binance: ['binance-us', 'binance-usdm', 'binance-coinm'],
  bybit: ['bybit-linear'],
  okx: ['okx-swap'],
};
const all = [
  ...cases,
  ...cases.flatMap(([name, ...of]): Case[] => (alike[name] ?? []).map((same): Case => [same, ...of])),
];

test.each(all)('%s: %i %j is %s', async (name, status, body, kind, said, more = {}) => {
  const { headers = {}, waitMs, unknownId = false } = more;
  const { server, source } = await venueAt(name, body, { status, headers });
  const error = await failureOf(source, (it) => candlesAt(it, { ...market(name), interval: 'm1' }));
  const retryAtMs = waitMs === undefined ? null : nowMs + waitMs;
  expect(error).toMatchObject({ kind, status, unknownId, retryAtMs });
  expect(error.message).toMatch(said);
  expect(server.requests).toHaveLength(1);
});

describe.each(Object.keys(symbols))('%s', (name) => {
  test('has documented errors in the table', () => {
    const kinds = all.flatMap(([of, , , kind]) => (of === name ? [kind] : []));
    expect(kinds).toEqual(expect.arrayContaining(['not_found', 'rate_limited', 'refused', 'server_error']));
  });

  test.each(['candles', 'symbols'] as const)('a body of %s with another shape is unexpected', async (what) => {
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
        what === 'symbols' ? it.symbols() : candlesAt(it, { ...market(name), interval: 'm1' }),
      );
      expect([body, error.kind, error.unknownId, error.retryAtMs]).toEqual([body, 'unexpected', false, null]);
    }
  });

  test('a 404 of a gateway does not make a market unknown', async () => {
    const { source } = await venueAt(name, '<h1>404 page not found</h1>', { status: 404 });
    const error = await failureOf(source, (it) => candlesAt(it, { ...market(name), interval: 'm1' }));
    expect(error).toMatchObject({ kind: 'not_found', unknownId: false });
  });
});

test('kraken: candles of two markets are unexpected', async () => {
  const row = [nowMs / 1000, '1', '1', '1', '1', '1', '1', 1];
  const { source } = await venueAt('kraken', { error: [], result: { A: [row], B: [row], last: 1 } });
  const error = await failureOf(source, (it) => candlesAt(it, { ...market('kraken'), interval: 'm1' }));
  expect(error.kind).toBe('unexpected');
});

test.each([
  [401, { error: 'invalid API key' }, 'unauthorized', null],
  [402, { error: 'credits used up' }, 'unauthorized', null],
  [403, { error: 'forbidden' }, 'unauthorized', null],
  [404, { error: 'asdf not found', timestamp: 1 }, 'not_found', null],
  [429, 'You exceeded your limit', 'rate_limited', null],
  [503, '', 'server_error', null],
] as const)('coincap-v3: %i %j is %s', async (status, body, kind, retryAtMs) => {
  const { source } = await venueAt('coincap-v3', body, { status });
  const error = await failureOf(source, (it) => historyAt(it, 'asdf', { interval: 'h1' }));
  expect(error).toMatchObject({ kind, retryAtMs });
});
