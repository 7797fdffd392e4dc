/** What browsers and caches go by, and what a store that is away looks like. */

import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addHealth } from '../../service/health.ts';
import { rendered } from '../../service/market-rows.ts';
import { createService } from '../../service/server.ts';
import { addWebSecurity } from '../../service/web-security.ts';
import { createSimulator } from '../../simulator/simulator.ts';

let nowMs = Date.UTC(2024, 4, 16, 10, 7, 31);
const simulator = rendered(createSimulator({ seed: 1, now: () => nowMs }));
let app: FastifyInstance;
beforeAll(() => {
  app = createService({ data: simulator, now: () => nowMs, extend: addWebSecurity });
});
afterAll(() => app.close());

describe('entity tags', () => {
  const path = '/v2/exchanges/kraken';
  test('the same data has the same tag, whatever the time', async () => {
    const { headers } = await app.inject(path);
    nowMs += 1000;
    expect((await app.inject(path)).headers.etag).toBe(headers.etag);
    expect(headers['cache-control']).toBe('public, max-age=5');
    nowMs += 60_000;
    expect((await app.inject(path)).headers.etag).not.toBe(headers.etag);
  });

  test('who has it is told so, by weak comparison', async () => {
    const etag = String((await app.inject(path)).headers.etag);
    for (const known of [etag, etag.replace('W/', ''), `"x", ${etag}`, '*']) {
      const answer = await app.inject({ url: path, headers: { 'if-none-match': known } });
      expect([known, answer.statusCode, answer.body]).toEqual([known, 304, '']);
    }
    const other = await app.inject({ url: path, headers: { 'if-none-match': '"x"' } });
    expect(other.statusCode).toBe(200);
  });

  test('an error is not to be kept', async () => {
    expect((await app.inject('/v2/rates/asdf')).headers['cache-control']).toBe('no-store');
  });
});

describe('other sites', () => {
  test('may read answers, and how many requests are left', async () => {
    const { headers } = await app.inject({ url: '/v2/rates', headers: { origin: 'https://a.example' } });
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['access-control-expose-headers']).toMatch(/x-ratelimit-remaining/);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers.vary).toMatch(/authorization/);
  });

  test('may ask whether they may send a key; any other OPTIONS is not allowed', async () => {
    const ask = (headers: Record<string, string>) =>
      app.inject({ method: 'OPTIONS', url: '/v2/rates', headers });
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

describe('a store that is away', () => {
  test.each([
    ['a lost connection', Object.assign(new Error('x'), { code: 'ECONNREFUSED' }), 503],
    ['a statement that takes too long', Object.assign(new Error('x'), { code: '57014' }), 503],
    ['too many connections', Object.assign(new Error('x'), { code: '53300' }), 503],
    ['a pool without a free connection', new Error('timeout exceeded when trying to connect'), 503],
    ['a value that the database cannot hold', Object.assign(new Error('x'), { code: '22021' }), 400],
    ['a defect', Object.assign(new Error('relation "x" does not exist'), { code: '42P01' }), 500],
  ])('%s', async (_, error, status) => {
    const broken = createService({
      data: { ...simulator, rates: () => Promise.reject(error) },
      now: () => nowMs,
    });
    const answer = await broken.inject('/v2/rates');
    expect(answer.statusCode).toBe(status);
    expect(answer.body).not.toContain(error.message);
    expect(answer.headers['retry-after']).toBe(status === 503 ? '5' : undefined);
    await broken.close();
  });

  test('/readyz says so, and whether the process stops; /healthz goes on', async () => {
    const state = { reads: true, draining: false };
    const service = createService({
      data: simulator,
      now: () => nowMs,
      extend: (app) =>
        addHealth(app, {
          now: () => nowMs,
          isDraining: () => state.draining,
          canRead: async () => state.reads,
        }),
    });
    const ready = async () => (await service.inject('/readyz')).statusCode;
    expect(await ready()).toBe(200);
    state.reads = false;
    nowMs += 1000;
    expect(await ready()).toBe(503);
    state.reads = true;
    nowMs += 1000;
    expect(await ready()).toBe(200);
    state.draining = true;
    expect(await ready()).toBe(503);
    expect((await service.inject('/healthz')).statusCode).toBe(200);
    await service.close();
  });
});
