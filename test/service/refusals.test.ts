import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { json, text } from 'node:stream/consumers';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { longestRangeMs } from '../../model/request-range.ts';
import { encodingFor } from '../../service/compression.ts';
import { createService } from '../../service/server.ts';
import { simulatedMarketData } from '../../simulator/served.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { clockAt } from '../parts/test-clock.ts';

const nowMs = Date.UTC(2024, 4, 16, 10, 7, 31);
let app: FastifyInstance;
let url: string;
beforeAll(async () => {
  app = createService({
    data: simulatedMarketData(createSimulator({ seed: 1, clock: { now: () => nowMs } })),
    clock: clockAt(() => nowMs),
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});
afterAll(() => app.close());

const day = `start=${nowMs - dayMs}&end=${nowMs}`;
const market = 'exchange=binance&baseId=bitcoin&quoteId=tether';
const candleIntervals = 'use valid interval: m1, m5, m15, m30, h1, h2, h4, h8, h12, d1, w1';
const historyIntervals = 'use valid interval: m1, m5, m15, m30, h1, h2, h6, h12, d1';

test.each([
  [400, '/v2/assets/bitcoin/history', historyIntervals],
  [400, '/v2/assets/bitcoin/history?interval=h1&interval=h1', historyIntervals],
  [400, `/v2/assets/bitcoin/history?interval=h1&end=${nowMs}`, 'query requires start'],
  [400, `/v2/assets/bitcoin/history?interval=h1&start=${nowMs}`, 'query requires end'],
  [400, '/v2/assets/bitcoin/history?interval=h1&start=-5&end=2', 'start must be a whole number'],
  [400, '/v2/assets/bitcoin/history?interval=h1&start=9223372036854775808&end=2', 'start is out of range'],
  [400, `/v2/candles?${market}&interval=h1&end=${'9'.repeat(400)}`, 'end is out of range'],
  [400, '/v2/markets?offset=1000000000000000', 'offset is out of range'],
  [400, '/v2/candles?interval=h1&baseId=bitcoin&quoteId=tether', 'missing exchange'],
  [400, '/v2/candles?exchange=a&exchange=b&interval=h1', 'give each parameter once'],
  [400, `/v2/candles?${market}&${day}`, 'missing interval'],
  [400, `/v2/candles?${market}&interval=h6`, candleIntervals],
  [400, `/v2/candles?${market}&interval=m1&start=0&end=${nowMs}`, 'range exceeds 1 days, the longest for interval m1'],
  [400, '/v2/assets?limit=2001', 'limit exceeds 2000'],
  [400, '/v2/assets/%E0%A4%A', 'bad path'],
  [404, '/v2/assets/bitcoin%2F', 'bitcoin/ not found'],
  [404, '/v2/assets/asdf', 'asdf not found'],
  [404, '/v2/assets/króna%22/history?interval=h1', 'króna" not found'],
  [404, '/v2/nothing', 'not found'],
  [414, `/v2/assets/${'x'.repeat(3000)}`, 'path too long'],
  [404, '/elsewhere', 'not found'],
])('%i %.80s', async (status, path, error) => {
  const answer = await app.inject(encodeURI(path).replaceAll('%25', '%'));
  expect(answer.json()).toEqual({ error, timestamp: nowMs });
  expect(answer.statusCode).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE'])('%s is not allowed', async (method) => {
  for (const path of ['/v2', '/v2/rates', '/v2/nothing', '/v2?x']) {
    const sent = httpRequest(`${url}${path}`, { method }).end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const body = await json(answer);
    const { statusCode, headers } = answer;
    expect([path, statusCode, headers.allow, body]).toEqual([
      ...[path, 405, 'GET, HEAD', { error: 'method not allowed', timestamp: nowMs }],
    ]);
  }
});

test('refuses a request with two Host headers', async () => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('GET /v2/rates HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*"give one Host header"/s);
});

test('responds to HEAD like GET without a body', async () => {
  const head = await fetch(`${url}/v2/rates`, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
  const get = await fetch(`${url}/v2/rates`, { headers: { 'accept-encoding': 'identity' } });
  expect(head.status).toBe(200);
  expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
  expect(await head.text()).toBe('');
});

test('accepts a range of exactly the maximum length', async () => {
  const start = nowMs - longestRangeMs.m1;
  const answer = await app.inject(`/v2/assets/bitcoin/history?interval=m1&start=${start}&end=${nowMs}`);
  expect(answer.statusCode).toBe(200);
});

describe('without a range', () => {
  const times = async (path: string) =>
    ((await app.inject(`/v2${path}`)).json().data as { time?: number; period?: number }[]).map(
      (row) => row.time ?? row.period ?? 0,
    );

  test('returns the most recent range of a history', async () => {
    const hours = await times('/assets/ethereum/history?interval=h1');
    expect(hours.at(0)).toBeGreaterThanOrEqual(nowMs - 30 * dayMs);
    expect(hours.at(-1)).toBe(Date.UTC(2024, 4, 16, 10));
    expect((await times('/assets/ethereum/history?interval=d1')).length).toBeGreaterThan(355);
  });

  test('accepts one bound of a candles range', async () => {
    const start = Date.UTC(2024, 0, 1);
    const from = await times(`/candles?${market}&interval=m1&start=${start}`);
    const to = await times(`/candles?${market}&interval=m1&end=${start + dayMs}`);
    expect(from.length).toBeGreaterThan(1380);
    expect(to).toEqual(from);
  });
});

describe('compression', () => {
  test('compresses responses without changing the text', async () => {
    const plain = await fetch(`${url}/v2/rates`, { headers: { 'accept-encoding': 'identity' } });
    const zipped = await fetch(`${url}/v2/rates`, { headers: { 'accept-encoding': 'gzip' } });
    expect(plain.headers.get('content-encoding')).toBe(null);
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.headers.get('vary')).toBe('accept-encoding');
    const text = await plain.text();
    expect(await zipped.text()).toBe(text);
    const brotli = await fetch(`${url}/v2/rates`, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(brotli.headers.get('content-encoding')).toBe('br');
    expect(await brotli.text()).toBe(text);
  });

  test.each([
    [undefined, null],
    ['deflate, GZIP;q=0.5', 'gzip'],
    ['*', 'br'],
    ['*, gzip; q=0', 'br'],
    ['identity', null],
    ['gzip, deflate, br', 'br'],
    ['gzip, br;q=0.9', 'gzip'],
    ['gzip, br;q=0', 'gzip'],
  ])('Accept-Encoding %s', (header, encoding) => {
    expect(encodingFor(header)).toBe(encoding);
  });
});
