/** Limits and keys: on PostgreSQL and on Redis, through one process and through two. */

import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { dayMs, minuteMs } from '../../../model/intervals.ts';
import { keyCacheMs } from '../../../service/admission/admission.ts';
import type { RequestCounter } from '../../../service/admission/request-counter.ts';
import { redisCounter } from '../../../service/admission/request-counter.ts';
import { allKeys, approveKey, countRequest, issueKey, revokeKey } from '../../../service/keys.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { type TestStore, useStore } from '../../store/open-store.ts';
import { listening, openFacing } from './facing.ts';
import { fill, nowMs } from './stored-world.ts';

const client = '203.0.113.7';
const asked = (app: FastifyInstance, headers: Record<string, string> = {}, remoteAddress = client) =>
  app.inject({ url: '/v2/rates', headers, remoteAddress });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const perMinute = { withoutKey: 5, withKey: 8 };
const owner = { name: 'a', address: null, purpose: null };

type CounterOf = (store: Pick<TestStore, 'database' | 'url'>, now: () => number) => RequestCounter;
const onPostgres: CounterOf = (store, now) => ({
  count: (caller, limit) => countRequest(store.database.pool, caller, limit, now()),
  check: async () => {},
  close: async () => {},
});
const onRedis: CounterOf = (store, now) => {
  const counter = redisCounter({
    url: inject('redisUrl') ?? '',
    namespace: new URL(store.url).pathname.slice(1),
    openCluster: () => {
      throw new Error('this Redis is no cluster');
    },
    onError: (error) => expect(error).toBe(undefined),
    clock: clockAt(now),
  });
  onTestFinished(() => counter.close());
  return counter;
};

const store = useStore();
/** Moved by each test to a minute of its own. */
let clockMs = nowMs;

async function service(counterOf = onPostgres, trustedProxies = 0): Promise<FastifyInstance> {
  clockMs += 2 * minuteMs;
  const counter = counterOf(store, () => clockMs);
  const clock = clockAt(() => clockMs);
  const app = await openFacing(store, { perMinute, counter, clock, trustedProxies });
  onTestFinished(() => app.close());
  return app;
}

function limitsOn(counterOf: CounterOf): void {
  it('limits a rolling minute and reports the remaining requests and the reset, with two processes', async () => {
    const apps = [await service(counterOf), await service(counterOf)] as const;
    const beganMs = clockMs;
    for (let left = 4; left >= 0; left -= 1) {
      const { statusCode, headers } = await asked(apps[left % 2 === 0 ? 0 : 1]);
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': String(left),
        'x-ratelimit-reset': String(Math.ceil((beganMs + minuteMs) / 1000)),
      });
      clockMs += 1000;
    }
    const refused = await asked(apps[0]);
    expect([refused.statusCode, refused.json()]).toEqual([
      429,
      { error: 'over the limit of 5 requests a minute', timestamp: clockMs },
    ]);
    expect(refused.headers).toMatchObject({ 'retry-after': '55', 'x-ratelimit-remaining': '0' });
    expect((await asked(apps[0], {}, '203.0.113.8')).statusCode).toBe(200);
    // A minute after the first, to the millisecond; refused ones did not count.
    clockMs = beganMs + minuteMs - 1;
    expect((await asked(apps[0])).statusCode).toBe(429);
    clockMs = beganMs + minuteMs;
    expect((await asked(apps[0])).statusCode).toBe(200);
    expect((await asked(apps[1])).statusCode).toBe(429);

    clockMs += 2 * minuteMs;
    const answers = await Promise.all(Array.from({ length: 12 }, (_, place) => asked(apps[place % 2 ? 1 : 0])));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
  });
}

describe('limits on PostgreSQL', () => limitsOn(onPostgres));
describeNeeding('redis', 'limits on Redis', () => limitsOn(onRedis));

describe('a caller', () => {
  it('is a key across addresses, with its own limit, until it is revoked and its cached id expires', async () => {
    const app = await service();
    const { pool } = store.database;
    const [{ key, id }, { key: other }] = [await issueKey(pool, owner), await issueKey(pool, owner)];
    const status = async (authorization: string, address = client) =>
      (await asked(app, { authorization }, address)).statusCode;
    for (let place = 0; place < 8; place += 1) expect(await status(`Bearer ${key}`, `203.0.113.${place}`)).toBe(200);
    for (const written of [`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key}`, `Bearer ${key}  `])
      expect([written, await status(written)]).toEqual([written, 429]);
    for (const unknown of [key.toUpperCase(), `${key}=`])
      expect([unknown, await status(`Bearer ${unknown}`)]).toEqual([unknown, 401]);
    expect(await status(`Bearer ${other}`)).toBe(200);
    expect((await asked(app)).statusCode).toBe(200);
    await revokeKey(pool, id);
    clockMs += Math.max(keyCacheMs, minuteMs) + 1;
    expect([await status(`Bearer ${key}`), await status(`Bearer ${other}`)]).toEqual([401, 200]);
    await expect(revokeKey(pool, id)).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
  });

  it.each([
    ['no proxy is trusted', 0, [client, client, client]],
    ['one is, which adds the address that it sees', 1, ['10.0.0.1', '10.0.0.1', '10.0.0.1']],
    ['two are', 2, ['10.0.0.2', '10.0.0.2', '10.0.0.2']],
  ])('is not dodged by X-Forwarded-For where %s', async (_, trustedProxies, proxies) => {
    const app = await service(onPostgres, trustedProxies);
    const seen = [`198.51.100.1`, ...(trustedProxies === 2 ? ['10.0.0.1'] : [])];
    const statuses: number[] = [];
    for (let place = 0; place < 6; place += 1) {
      const forged = ['1.2.3.4', `9.9.9.${place}`, `"; drop table`, '::1', `unknown-${place}`, ''][place] ?? '';
      const header = trustedProxies === 0 ? forged : [forged, ...seen].join(', ');
      const headers = { 'x-forwarded-for': header, forwarded: `for=9.9.9.${place}`, 'x-real-ip': `9.9.8.${place}` };
      statuses.push((await asked(app, headers, proxies[place % 3] ?? client)).statusCode);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it('counts requests with alternative spellings of the URL', async () => {
    const app = await service();
    const { port } = new URL(await listening(app));
    const status = (path: string, options: RequestOptions = {}) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request({ ...options, host: '127.0.0.1', port, path, agent: false }, (answer) => {
          answer.resume();
          resolve(answer);
        });
        sent.on('error', reject).end();
      });
    const ways = ['/%762/rates', '/v%32/rates', '/%76%32/%72ates', 'http://x/v2/rates', 'HTTPS://x:1/v2/rates'];
    for (const [place, way] of ways.entries()) {
      const { statusCode, headers } = await status(way);
      expect([way, statusCode]).toEqual([way, 200]);
      expect(headers['x-ratelimit-remaining']).toBe(String(4 - place));
      expect(headers['access-control-allow-origin']).toBe('*');
    }
    for (const way of ways) expect([way, (await status(way)).statusCode]).toEqual([way, 429]);
  });

  it('counts a request whose client has left', async () => {
    const app = await service();
    // As of a socket that was reset right after the request.
    const leave = (socket: Socket) => void Object.defineProperty(socket, 'remoteAddress', { value: undefined });
    app.server.prependListener('connection', leave);
    const answer = await fetch(`${await listening(app)}/v2/rates`);
    expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, '4']);
  });

  it('counts an IPv6 /64 as one caller and a mapped IPv4 address as IPv4', async () => {
    const app = await service();
    const statuses: number[] = [];
    for (const host of ['::1', ':0:0:ffff::2', '::3', '::4', '::5', '::6'])
      statuses.push((await asked(app, {}, `2001:${host === '::5' ? 'DB8' : 'db8'}${host}`)).statusCode);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await asked(app, {}, '2001:db8:0:1::1')).statusCode).toBe(200);
    for (let place = 0; place < 5; place += 1) await asked(app, {}, '198.51.100.9');
    const mapped = ['::ffff:198.51.100.9', '::FFFF:c633:6409', '198.51.100.9:1234', '[::ffff:c633:6409]:80'];
    for (const written of mapped) expect([written, (await asked(app, {}, written)).statusCode]).toEqual([written, 429]);
  });

  it('charges guessed keys to the address and responds with 401', async () => {
    const app = await service();
    const statuses: number[] = [];
    for (const guess of ['a', 'tm_b', "' or 1=1 --", 'Bearer', '', 'x'.repeat(5000)]) {
      const answer = await asked(app, { authorization: `Bearer ${guess}` });
      statuses.push(answer.statusCode);
      if (answer.statusCode === 401) {
        expect(answer.json()).toEqual({ error: 'unknown or revoked key', timestamp: clockMs });
        expect(answer.headers['www-authenticate']).toBe('Bearer');
      }
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await asked(app)).statusCode).toBe(429);
  });
});

it('counts no order of the dashboard, which works while requests cannot be counted', async () => {
  const away = async () => Promise.reject(new Error('Command timed out'));
  const app = await openFacing(store, {
    ...{ clock: clockAt(() => nowMs), perMinute: { withoutKey: 5, withKey: 5 } },
    counter: { count: away, check: away, close: async () => {} },
    addDashboard: (to) => void to.post('/dashboard/actions/pause', async () => 'paused'),
  });
  onTestFinished(() => app.close());
  expect((await app.inject({ method: 'POST', url: '/dashboard/actions/pause' })).body).toBe('paused');
  expect((await app.inject({ method: 'POST', url: '/keys' })).statusCode).toBe(503);
});

describe('keys', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = await openFacing(store, { clock: clockAt(() => nowMs) });
  });
  afterAll(() => app.close());
  const post = (fields: Record<string, string>, remoteAddress = client) =>
    app.inject({
      method: 'POST',
      url: '/keys',
      remoteAddress,
      payload: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  const good = { name: 'Ann <b>', address: 'ann@example.org', purpose: 'a chart of "rates"' };

  it('requests a key by the form, issues it by hand, shows it once and stores its hash', async () => {
    const stored = await post(good);
    expect(stored.statusCode).toBe(202);
    expect(stored.body).toContain('The operator reviews it');
    const entry = (await allKeys.on(store.database.pool, {})).find(({ name }) => name === good.name);
    expect(entry).toMatchObject({ ...good, state: 'pending' });
    const key = await approveKey(store.database.pool, entry?.id ?? 0);
    expect((await asked(app, bearer(key))).statusCode).toBe(200);
    const kept = await store.database.pool.query<{ row: string }>('select k::text as row from tidemark.api_keys k');
    expect(kept.rows.map(({ row }) => row).join()).not.toContain(key);
    await expect(approveKey(store.database.pool, entry?.id ?? 0)).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
  });

  it.each([
    [{ ...good, name: ' ' }, 'the name is missing'],
    [{ ...good, name: 'x'.repeat(101) }, 'longer than 100'],
    [{ ...good, name: 'a\u0000b' }, 'not text'],
    [{ ...good, address: 'ann' }, 'not an e-mail address'],
    [{ ...good, purpose: 'short' }, 'say in a sentence'],
    [{ ...good, purpose: '<script>alert(1)</script>\u001b[2J' }, 'not text'],
  ])('the form refuses %j', async (fields, complaint) => {
    const before = await allKeys.on(store.database.pool, {});
    const answer = await post(fields as Record<string, string>);
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain(complaint);
    expect(answer.body).not.toContain('<script>');
    expect(await allKeys.on(store.database.pool, {})).toEqual(before);
  });

  it('throttles the form by address', async () => {
    const statuses: number[] = [];
    for (let place = 0; place < 4; place += 1) statuses.push((await post(good, '198.51.100.77')).statusCode);
    expect(statuses).toEqual([202, 202, 202, 429]);
    expect((await post(good, '198.51.100.78')).statusCode).toBe(202);
  });

  it('limits history to 11 years without a key', async () => {
    const { key } = await issueKey(store.database.pool, owner);
    const bitcoin = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' } as const;
    await fill(store.database, bitcoin, { startMs: Date.UTC(2012, 0, 1), endMs: nowMs });
    const startMs = nowMs - 7305 * dayMs;
    const path = `/v2/assets/bitcoin/history?interval=d1&start=${startMs}&end=${nowMs}`;
    const times = async (headers: Record<string, string>) => {
      const answer = await app.inject({ url: path, headers });
      const rows = answer.json().data as { time: number }[];
      return { first: rows[0]?.time, coverage: answer.headers['x-tidemark-coverage'] };
    };
    const [without, whole] = [await times({}), await times(bearer(key))];
    expect(without.first).toBe(Date.UTC(2013, 4, 17));
    expect(whole.first).toBe(Date.UTC(2012, 0, 1));
    // What is not shown is not said to be known.
    expect(without.coverage).toMatch(/^share=0\.5\d+, gaps=1, until=\d+, missing=\d+-1368748800000$/);
    expect(whole.coverage).toMatch(/^share=0\.6\d+, gaps=1, until=\d+, missing=\d+-1325376000000$/);
  });
});

it('reads as a role that cannot read keys or the ledger and cannot write', async () => {
  const client = await store.database.pool.connect();
  await client.query('set role tidemark_reader');
  for (const sql of [
    'select * from tidemark.api_keys',
    'select * from tidemark.fetches',
    'select * from tidemark.settings',
    'delete from tidemark.series',
    'create table tidemark.mine (a int)',
  ])
    await expect(client.query(sql), sql).rejects.toMatchObject({ code: '42501' });
  await expect(client.query('select from tidemark.series')).resolves.toBeDefined();
  client.release(true);
});
