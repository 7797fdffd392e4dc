import { resolve } from 'node:path';
import Fastify from 'fastify';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../clock.ts';
import { type Access, dashboardAccess, gatewaysIn } from '../../dashboard/access.ts';
import { createQueueReader } from '../../dashboard/queue.ts';
import { addDashboard } from '../../dashboard/routes.ts';
import { Disposer } from '../../operations/disposer.ts';
import type { Context } from '../../runtime/context.ts';
import { openDashboard } from '../../runtime/service.ts';
import { readConfig } from '../../settings/config.ts';
import { openDatabase } from '../../store/db/database.ts';
import { clockAt } from '../parts/test-clock.ts';
import { plainPorts } from './dashboard-world.ts';

const given = { dashboard: undefined, password: undefined, trustedProxies: 0 } as const;
const password = 'correct horse battery';
const local: Access = { kind: 'local', alsoFrom: [] };

describe('whether there is a dashboard', () => {
  it.each([
    ['on for loopback by default', {}, '127.0.0.1', 'local'],
    ['on for IPv6 loopback', {}, '::1', 'local'],
    ['off on all addresses', {}, '0.0.0.0', undefined],
    ['off on a name that resembles loopback', {}, '127.0.0.1.example', undefined],
    ['off behind a proxy', { trustedProxies: 1 }, '127.0.0.1', undefined],
    ['on when configured', { dashboard: 'on' }, '0.0.0.0', 'local'],
    ['on in a container', { dashboard: 'container' }, '0.0.0.0', 'local'],
    ['with a password anywhere', { password, trustedProxies: 1 }, '0.0.0.0', 'password'],
    ['off when configured', { dashboard: 'off', password }, '127.0.0.1', undefined],
  ] as const)('%s', (_, settings, host, kind) => {
    expect(dashboardAccess({ ...given, ...settings }, host)?.kind).toBe(kind);
  });
});

it('treats the gateway as local only in a container', () => {
  const from = (dashboard: 'on' | 'container') =>
    dashboardAccess({ ...given, dashboard }, '0.0.0.0', () => ['172.18.0.1']);
  expect(from('container')).toEqual({ kind: 'local', alsoFrom: ['172.18.0.1'] });
  expect(from('on')).toEqual(local);
});

it('reads default gateways from the routing table in either byte order', () => {
  const route = (...fields: string[]) => `eth0\t${fields.join('\t')}\t0\t0\t0                      `;
  const routes = (gateway: string) =>
    [
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
      route('00000000', gateway, '0003', '0', '0', '0', '00000000'),
      route('000012AC', '00000000', '0001', '0', '0', '0', '0000FFFF'),
      // A way to everywhere without a gateway; half of everywhere.
      route('00000000', '00000000', '0001', '0', '0', '0', '00000000'),
      route('00000000', '020012AC', '0003', '0', '0', '0', '00000080'),
      '',
    ].join('\n');
  expect(gatewaysIn(routes('010012AC'), 'LE')).toEqual(['172.18.0.1']);
  expect(gatewaysIn(routes('AC120001'), 'BE')).toEqual(['172.18.0.1']);
  expect(gatewaysIn('')).toEqual([]);
});

it.each([
  ['on', '0.0.0.0', undefined, 1],
  ['on', '127.0.0.1', undefined, 0],
  ['on', '0.0.0.0', password, 0],
])('%s at %s with the password %s warns %i times', async (dashboard, host, secret, times) => {
  const log = { warn: vi.fn() };
  const measurePool = vi.fn();
  const closing = new Disposer(systemClock);
  const context = {
    ...{ clock: systemClock, log, database: { url: 'postgres://nobody@127.0.0.1:1/none' } },
    config: readConfig({ DASHBOARD: dashboard, DASHBOARD_PASSWORD: secret }),
    metrics: { measurePool },
  } as unknown as Context;
  expect(openDashboard(context, host, closing, {})).not.toBeNull();
  await closing.run(context.log);
  expect(log.warn).toHaveBeenCalledTimes(times);
  expect(measurePool).toHaveBeenCalledWith('serve_dashboard', expect.objectContaining({ totalCount: 0 }));
});

function openWith(access: Access, state: { nowMs: number } = { nowMs: 1_000_000 }) {
  const app = Fastify();
  // No connection is made before the first query, and the page itself needs none.
  const database = openDatabase({
    url: 'postgres://nobody@127.0.0.1:1/none',
    applicationName: 'none',
    maxConnections: 1,
    statementTimeoutMs: 1,
  });
  addDashboard(
    app,
    {
      database,
      access,
      assets: resolve('dist/dashboard/assets'),
      queue: createQueueReader(systemClock, () => Promise.reject()),
      ...{ ports: plainPorts(database), graceMs: 0, perMinute: 0, synthetic: false },
      ...{ streamsPerAddress: 0, readTimeoutMs: 10_000 },
    },
    clockAt(() => state.nowMs),
  );
  onTestFinished(async () => {
    await app.close();
    await database.close();
  });
  return (url: string, by: { headers?: Record<string, string>; remoteAddress?: string } = {}) =>
    app.inject({ remoteAddress: '127.0.0.1', ...by, url, headers: { host: 'localhost:4000', ...by.headers } });
}

type Row = [remoteAddress: string, host: string, headers: Record<string, string>, status: number];

it('admits requests of this machine alone without a password', async () => {
  const ask = openWith(local);
  const rows: Row[] = [
    ['127.0.0.1', 'localhost:4000', {}, 200],
    ['::1', '[::1]:4000', {}, 200],
    ['::ffff:127.0.0.1', '127.0.0.1:4000', {}, 200],
    // Names of this machine too, whoever asks for their address.
    ['127.0.0.1', '127.1:4000', {}, 200],
    ['127.0.0.1', 'foo.localhost:4000', {}, 200],
    // A neighbour may write any name.
    ['203.0.113.7', 'localhost:4000', {}, 403],
    ['2001:db8::1', 'localhost:4000', {}, 403],
    // A page of another site whose name leads here.
    ['127.0.0.1', 'rebound.example:4000', {}, 403],
    ['127.0.0.1', 'localhost.example', {}, 403],
    // A proxy on this machine.
    ...Object.entries({
      ...{ forwarded: 'for=203.0.113.7', via: '1.1 proxy', 'x-forwarded-host': 'example.com' },
      ...{ 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7', 'x-client-ip': '203.0.113.7' },
      ...{ 'true-client-ip': '203.0.113.7', 'cf-connecting-ip': '203.0.113.7' },
    }).map(([name, value]): Row => ['127.0.0.1', 'localhost', { [name]: value }, 403]),
    // A page of another site, as its browser says.
    ['127.0.0.1', 'localhost', { 'sec-fetch-site': 'cross-site' }, 403],
    ['127.0.0.1', 'localhost', { 'sec-fetch-site': 'same-origin' }, 200],
  ];
  for (const [remoteAddress, host, more, status] of rows) {
    const by = { remoteAddress, headers: { host, ...more } };
    const told = `${remoteAddress}, asking ${host} with ${JSON.stringify(more)}`;
    expect((await ask('/dashboard/app.js', by)).statusCode, told).toBe(status);
    const page = await ask('/', by);
    // To others the first page is what it always was.
    const [shown, location] = status === 200 ? [200, undefined] : [302, 'docs'];
    expect([page.statusCode, page.headers.location], told).toEqual([shown, location]);
    if (status === 403)
      for (const path of ['events', 'bands?ids=1&columns=1', 'series/1', 'series/1/points', 'problems'])
        expect((await ask(`/dashboard/${path}`, by)).statusCode, told).toBe(403);
  }
});

it('admits the host of a container and no other neighbour', async () => {
  const ask = openWith({ kind: 'local', alsoFrom: ['172.18.0.1'] });
  for (const [remoteAddress, headers, status] of [
    ['172.18.0.1', {}, 200],
    ['::ffff:172.18.0.1', {}, 200],
    ['172.18.0.2', {}, 302],
    ['172.18.0.1', { host: 'rebound.example' }, 302],
    ['172.18.0.1', { via: '1.1 proxy' }, 302],
  ] as const)
    expect((await ask('/', { remoteAddress, headers })).statusCode).toBe(status);
});

describe('with a password', () => {
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(`any:${text}`).toString('base64')}` });
  const far = { remoteAddress: '203.0.113.7' };

  it('admits requests with the password from any address', async () => {
    const ask = openWith({ kind: 'password', password });
    const without = await ask('/', far);
    expect([without.statusCode, without.headers['www-authenticate']]).toEqual([
      401,
      'Basic realm="Tidemark", charset="UTF-8"',
    ]);
    expect((await ask('/', { ...far, headers: basic(password) })).statusCode).toBe(200);
    for (const wrong of ['', 'correct horse', `${password} `])
      expect((await ask('/', { ...far, headers: basic(wrong) })).statusCode).toBe(401);
    // Being near is not enough then.
    expect((await ask('/')).statusCode).toBe(401);
    for (const path of ['events', 'series/1', 'problems'])
      expect((await ask(`/dashboard/${path}`, far)).statusCode).toBe(401);
  });

  it('throttles guesses of one address for a minute', async () => {
    const state = { nowMs: 1_000_000 };
    const ask = openWith({ kind: 'password', password }, state);
    const status = async (text: string, remoteAddress: string) =>
      (await ask('/', { remoteAddress, headers: basic(text) })).statusCode;
    for (let guess = 0; guess < 10; guess += 1) expect(await status(`guess ${guess}`, '203.0.113.7')).toBe(401);
    expect(await status(password, '203.0.113.7')).toBe(429);
    expect(await status(password, '203.0.113.8')).toBe(200);
    state.nowMs += 60_001;
    expect(await status(password, '203.0.113.7')).toBe(200);
  });
});

it('forbids framing, embedding and inline scripts', async () => {
  const { headers } = await openWith(local)('/');
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(headers['content-security-policy']).not.toContain('unsafe');
  expect(headers['cross-origin-resource-policy']).toBe('same-origin');
});
