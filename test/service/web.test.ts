/** Headers for browsers and caches, and responses while the store is unavailable. */

import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createService } from '../../service/server.ts';
import { addWebSecurity } from '../../service/web-security.ts';
import { simulatedMarketData } from '../../simulator/served.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { clockAt } from '../parts/test-clock.ts';

let nowMs = Date.UTC(2024, 4, 16, 10, 7, 31);
const simulator = simulatedMarketData(createSimulator({ seed: 1, clock: { now: () => nowMs } }));
let app: FastifyInstance;
beforeAll(() => {
  app = createService({ data: simulator, clock: clockAt(() => nowMs), extend: addWebSecurity });
});
afterAll(() => app.close());

describe('entity tags', () => {
  const path = '/v2/exchanges/kraken';
  test('gives the same data the same tag at any time', async () => {
    const { headers } = await app.inject(path);
    nowMs += 1000;
    expect((await app.inject(path)).headers.etag).toBe(headers.etag);
    expect(headers['cache-control']).toBe('public, max-age=5');
    nowMs += 60_000;
    expect((await app.inject(path)).headers.etag).not.toBe(headers.etag);
  });

  test('responds with 304 to a matching tag by weak comparison', async () => {
    const etag = String((await app.inject(path)).headers.etag);
    for (const known of [etag, etag.replace('W/', ''), `"x", ${etag}`, '*']) {
      const answer = await app.inject({ url: path, headers: { 'if-none-match': known } });
      expect([known, answer.statusCode, answer.body]).toEqual([known, 304, '']);
    }
    const other = await app.inject({ url: path, headers: { 'if-none-match': '"x"' } });
    expect(other.statusCode).toBe(200);
  });

  test('forbids caching of errors', async () => {
    expect((await app.inject('/v2/rates/asdf')).headers['cache-control']).toBe('no-store');
  });
});

describe('CORS', () => {
  test('lets scripts of other sites read responses and limits', async () => {
    const { headers } = await app.inject({ url: '/v2/rates', headers: { origin: 'https://a.example' } });
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['access-control-expose-headers']).toMatch(/x-ratelimit-remaining/);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers.vary).toMatch(/authorization/);
  });

  test('accepts a preflight and refuses any other OPTIONS request', async () => {
    const ask = (headers: Record<string, string>) => app.inject({ method: 'OPTIONS', url: '/v2/rates', headers });
    const preflight = await ask({
      origin: 'https://a.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    });
    expect(preflight.statusCode).toBe(204);
    expect(preflight.headers['access-control-allow-headers']).toMatch(/authorization/);
    expect((await ask({})).statusCode).toBe(405);
  });
});

describe('an unavailable store', () => {
  test.each([
    ['a lost connection', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 503],
    ['a statement that takes too long', Object.assign(new Error('x'), { code: '57014' }), 503],
    ['too many connections', Object.assign(new Error('x'), { code: '53300' }), 503],
    ['a role whose password was changed', Object.assign(new Error('x'), { code: '28P01' }), 503],
    ['a pool without a free connection', new Error('timeout exceeded when trying to connect'), 503],
    ['a value that the database cannot hold', Object.assign(new Error('x'), { code: '22021' }), 400],
    ['a defect', Object.assign(new Error('relation "x" does not exist'), { code: '42P01' }), 500],
  ])('%s', async (_, error, status) => {
    const broken = createService({
      data: { ...simulator, rates: () => Promise.reject(error) },
      clock: clockAt(() => nowMs),
    });
    const answer = await broken.inject('/v2/rates');
    expect(answer.statusCode).toBe(status);
    expect(Object.keys(answer.json())).toEqual(['error', 'timestamp']);
    expect(answer.body).not.toContain(error.message);
    expect(answer.headers['retry-after']).toBe(status === 503 ? '5' : undefined);
    await broken.close();
  });
});
