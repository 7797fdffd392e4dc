import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import { expect, inject, it, onTestFinished } from 'vitest';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';
import { onEachBackend } from '../../queue/queue-parts.ts';
import { start, tidemark } from '../command.ts';

async function migrated(on: 'main' | 'plain'): Promise<Record<string, string>> {
  const { url, drop } = await createMigratedDatabase(on);
  onTestFinished(() => drop());
  const env = { DATABASE_URL: url };
  return env;
}

async function serving(env: Record<string, string>) {
  const service = start(['serve'], env);
  await waitFor('the address', () => /http:\S+\/v2/.test(service.stdout()));
  const [address = ''] = /http:\S+\/v2/.exec(service.stdout()) ?? [];
  return { service, address };
}

for (const on of ['main', 'plain'] as const) {
  describeNeeding(on === 'main' ? 'timescale' : 'plainPostgres', `serve on ${on}`, () => {
    it('answers as the read-only role, accepts a key until it is revoked, and stops gracefully', async () => {
      const env = await migrated(on);
      const { service, address } = await serving(env);
      expect(await (await fetch(`${address}/rates`)).json()).toMatchObject({ data: [] });
      expect((await fetch(address.replace(/v2$/, 'readyz'))).status).toBe(200);

      const issued = await tidemark(['keys', 'issue', '--name', 'Ann'], env);
      const key = issued.stdout.trim();
      expect(key).toMatch(/^tm_[\w-]{43}$/);
      const asked = () => fetch(`${address}/rates`, { headers: { authorization: `Bearer ${key}` } });
      const answer = await asked();
      expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, '500']);
      expect((await tidemark(['keys', 'list'], env)).stdout).toMatch(/1 {2}issued {2}Ann/);
      expect((await tidemark(['keys', 'revoke', '1'], env)).exitCode).toBe(0);
      await waitFor('the key to be forgotten', async () => (await asked()).status === 401);
      const twice = await tidemark(['keys', 'revoke', '1'], env);
      expect([twice.exitCode, twice.stderr]).toEqual([2, expect.stringContaining('UNKNOWN_KEY')]);

      service.kill('SIGTERM');
      const ended = await service.ended;
      expect(ended.exitCode).toBe(0);
      expect(ended.stderr).toContain('serve stopped');
      expect(ended.stderr).not.toContain('keeps its own role');
      expect(ended.stderr).not.toContain(key);
    });
  });
}

it('keeps answering while it drains, and reports on /readyz that it stops', async () => {
  const env = await migrated('main');
  const { service, address } = await serving({ ...env, SERVE_DRAIN_SECONDS: '60' });
  service.kill('SIGTERM');
  const ready = async () => (await fetch(address.replace(/v2$/, 'readyz'))).status;
  await waitFor('the drain', async () => (await ready()) === 503);
  expect((await fetch(`${address}/rates`)).status).toBe(200);
  // A second signal, and not the terminal's copy of the first, ends the process at once.
  await waitFor('the end', async () => {
    service.kill('SIGTERM');
    return (await Promise.race([service.ended, null])) !== null;
  });
});

it('does not log that it waits for the database while it serves', async () => {
  // Longer than the silence after which a phase is repeated.
  const { service } = await serving({ ...(await migrated('main')), SERVE_DRAIN_SECONDS: '11' });
  service.kill('SIGTERM');
  const { exitCode, stderr } = await service.ended;
  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('waiting for')]);
});

it('is not held up by idle or incomplete connections', async () => {
  const { service, address } = await serving(await migrated('main'));
  const { hostname, port } = new URL(address);
  const silent = connect(Number(port), hostname);
  const half = connect(Number(port), hostname);
  half.write('GET /v2/rates HTTP/1.1\r\nHost: x\r\n');
  for (const socket of [silent, half]) socket.on('error', () => {});
  await Promise.all([once(silent, 'connect'), once(half, 'connect')]);
  expect((await fetch(`${address}/rates`)).status).toBe(200);
  const ends = [once(silent, 'close'), once(half, 'close')];
  service.kill('SIGTERM');
  const { exitCode, stderr } = await service.ended;
  await Promise.all(ends);
  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('did not close')]);
});

it('answers 503 while its database is silent, and 200 with new connections afterwards', async () => {
  const env = await migrated('main');
  const proxy = await proxyTo(env.DATABASE_URL ?? '');
  const quick = { SERVE_STATEMENT_TIMEOUT_SECONDS: '1', SERVE_REMEMBER_MS: '0', SERVE_PER_MINUTE: '0' };
  const { service, address } = await serving({ ...env, DATABASE_URL: proxy.url, ...quick });
  const ask = async () => (await fetch(`${address}/rates`)).status;
  const all = () => Promise.all(Array.from({ length: 4 }, ask));
  expect(await all()).toEqual([200, 200, 200, 200]);
  proxy.freeze();
  expect(await all()).toContain(503);
  await waitFor('new connections', async () => (await all()).every((status) => status === 200));
  service.kill('SIGTERM');
  expect((await service.ended).exitCode).toBe(0);
});

it('tells open dashboards of a silent database, and recovers by itself', async () => {
  const env = await migrated('main');
  const proxy = await proxyTo(env.DATABASE_URL ?? '');
  const { address } = await serving({
    ...env,
    DATABASE_URL: proxy.url,
    REDIS_URL: '',
    SERVE_STATEMENT_TIMEOUT_SECONDS: '1',
  });
  const url = `${address.replace(/v2$/, '')}dashboard/`;
  const opened = async () => {
    const told: string[] = [];
    const { body } = await fetch(`${url}events`);
    void (async () => {
      for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? [])
        told.push(...[...text.matchAll(/^event: (.*)$/gm)].map(([, name = '']) => name));
    })().catch(() => {});
    return () => told.at(-1);
  };
  const problems = async () => (await fetch(`${url}problems`)).status;
  const all = () => Promise.all(Array.from({ length: 4 }, problems));
  const last = await opened();
  await waitFor('the state', () => last() === 'snapshot');
  expect(await all()).toEqual([200, 200, 200, 200]);

  proxy.silence();
  expect(new Set(await all())).toEqual(new Set([503]));
  await waitFor('trouble', () => last() === 'trouble');
  const late = await opened();
  await waitFor('trouble on a new page', () => late() === 'trouble');

  proxy.speak();
  await waitFor('the state again', () => last() === 'change');
  await waitFor('the state on the new page', () => late() === 'change' || late() === 'snapshot');
  expect(await all()).toEqual([200, 200, 200, 200]);
});

it('answers 503 and is not ready while its database accepts no connections, and then recovers', async () => {
  const env = await migrated('main');
  const { address } = await serving({ ...env, SERVE_REMEMBER_MS: '0', SERVE_PER_MINUTE: '0' });
  const database = new URL(env.DATABASE_URL ?? '').pathname.slice(1);
  const server = new pg.Client({ connectionString: new URL('/postgres', env.DATABASE_URL).href });
  await server.connect();
  onTestFinished(() => server.end());
  const statuses = async () => [
    (await fetch(`${address}/rates`)).status,
    (await fetch(address.replace(/v2$/, 'readyz'))).status,
  ];
  expect(await statuses()).toEqual([200, 200]);
  await server.query(`alter database ${database} allow_connections false`);
  await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
  await waitFor('the end of its connections', async () => (await statuses()).join() === '503,503');
  await server.query(`alter database ${database} allow_connections true`);
  await waitFor('new connections', async () => (await statuses()).join() === '200,200');
});

it('shows the dashboard to this machine, and ends its streams on shutdown', async () => {
  const env = await migrated('main');
  const { service, address } = await serving(env);
  const url = address.replace(/v2$/, '');
  expect(service.stdout()).toContain(`, the dashboard at ${url};`);
  expect(await (await fetch(url)).text()).toContain('dashboard/app.js');
  expect((await fetch(`${url}dashboard/app.js`)).headers.get('content-type')).toContain('javascript');
  const stream = await fetch(`${url}dashboard/events`);
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('\n\n')) text += (await reader?.read())?.value ?? '';
  const { summary, series } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
  expect(series).toEqual([]);
  // It asks the queue itself; nobody works on it.
  expect(summary).toMatchObject({ queue: { waiting: 0, active: 0, workers: 0 }, synthetic: false });
  service.kill('SIGTERM');
  while (!(await reader?.read())?.done);
  const ended = await service.ended;
  expect([ended.exitCode, ended.stderr]).toEqual([0, expect.stringContaining('serve stopped')]);
  expect(ended.stderr).not.toContain('did not close');
});

it.each([
  ['off', { DASHBOARD: 'off' }],
  ['not asked for and the service is for others too', { SERVE_HOST: '0.0.0.0' }],
])('has no dashboard where it is %s', async (_, settings) => {
  const { service, address } = await serving({ ...(await migrated('main')), ...settings });
  const url = address.replace(/v2$/, '').replace('0.0.0.0', '127.0.0.1');
  expect(service.stdout()).not.toContain('dashboard');
  const first = await fetch(url, { redirect: 'manual' });
  expect([first.status, first.headers.get('location')]).toEqual([302, 'docs']);
  expect((await fetch(`${url}dashboard/events`)).status).toBe(404);
});

it('rejects an occupied port in one line', async () => {
  const env = await migrated('main');
  const { address } = await serving(env);
  const second = await start(['serve', '--port', new URL(address).port], env).ended;
  expect([second.exitCode, second.stderr]).toEqual([
    2,
    // `run` and `demo` have no option for it.
    expect.stringMatching(/^tidemark: PORT_IN_USE: [^\n]* SERVE_PORT, or --port of serve[^\n]*\n$/m),
  ]);
});

onEachBackend('two services', (queue) => {
  it('share the limit of a client', async () => {
    const env: Record<string, string> = {
      ...(await migrated('main')),
      SERVE_PER_MINUTE: '5',
      SERVE_PER_MINUTE_WITH_KEY: '8',
      ...(queue === 'redis' ? { REDIS_URL: inject('redisUrl') ?? '' } : {}),
    };
    const namespace = { QUEUE_NAMESPACE: `t${new URL(env.DATABASE_URL ?? '').pathname.slice(-12)}` };
    const both = [await serving({ ...env, ...namespace }), await serving({ ...env, ...namespace })];
    const key = (await tidemark(['keys', 'issue', '--name', 'Ann'], env)).stdout.trim();
    const answered = async (headers: Record<string, string>) => {
      const statuses = await Promise.all(
        Array.from({ length: 20 }, async (_, place) => {
          const { status } = await fetch(`${both[place % 2]?.address}/rates`, { headers });
          return status;
        }),
      );
      return statuses.filter((status) => status === 200).length;
    };
    expect(await answered({})).toBe(5);
    expect(await answered({ authorization: `Bearer ${key}` })).toBe(8);
    expect(await answered({ 'x-forwarded-for': '198.51.100.1' })).toBe(0);
  });
});
