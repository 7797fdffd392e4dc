import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';
import { emptyDirectory, start, startService, tidemark } from '../command.ts';

async function migrated() {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(() => drop());
  return { DATABASE_URL: url };
}

/** The events of an open dashboard. @returns the newest one, and all its text. */
async function openDashboard(root: string) {
  const { body } = await fetch(`${root}dashboard/events`);
  let text = '';
  const ended = (async () => {
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) text += piece;
  })();
  ended.catch(() => {});
  const newest = () => [...text.matchAll(/^event: (.*)$/gm)].at(-1)?.[1];
  await waitFor('the first event', () => newest() !== undefined);
  return { newest, text: () => text, ended };
}

it('answers as the read-only role, with a dashboard and keys, and stops gracefully', async () => {
  const env = await migrated();
  const { service, address, root } = await startService(env);
  expect(await (await fetch(`${address}/rates`)).json()).toMatchObject({ data: [] });
  expect((await fetch(`${root}readyz`)).status).toBe(200);

  const key = (await tidemark(['keys', 'issue', '--name', 'Ann'], env)).stdout.trim();
  expect(key).toMatch(/^tm_[\w-]{43}$/);
  const asked = () => fetch(`${address}/rates`, { headers: { authorization: `Bearer ${key}` } });
  const answer = await asked();
  expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, '500']);
  expect((await tidemark(['keys', 'list'], env)).stdout).toMatch(/1 {2}issued {2}Ann/);
  const { stdout: listed } = await tidemark(['keys', 'list', '--json'], env);
  expect(JSON.parse(listed)).toMatchObject([{ name: 'Ann' }]);
  expect((await tidemark(['keys', 'revoke', '1'], env)).exitCode).toBe(0);
  await waitFor('the key to be forgotten', async () => (await asked()).status === 401);
  const twice = await tidemark(['keys', 'revoke', '1'], env);
  expect([twice.exitCode, twice.stderr]).toEqual([2, expect.stringContaining('UNKNOWN_KEY')]);

  expect(service.stdout()).toContain(`, the dashboard at ${root};`);
  expect(await (await fetch(root)).text()).toContain('dashboard/app.js');
  expect((await fetch(`${root}dashboard/app.js`)).headers.get('content-type')).toContain('javascript');
  const dashboard = await openDashboard(root);
  // It asks the queue itself; nobody works on it.
  expect(JSON.parse(/^data: (.*)$/m.exec(dashboard.text())?.[1] ?? '{}')).toMatchObject({
    series: [],
    summary: { queue: { waiting: 0, active: 0, workers: 0 }, synthetic: false },
  });

  const second = await start(['serve', '--port', new URL(address).port], env).ended;
  expect([second.exitCode, second.stderr]).toEqual([
    2,
    // `demo` has no option for it.
    expect.stringMatching(/^tidemark: PORT_IN_USE: [^\n]* SERVE_PORT, or --port of serve and run[^\n]*\n$/m),
  ]);

  // Before it creates a database, let alone fetches.
  const directory = emptyDirectory();
  const taken = ['run', '--port', new URL(address).port];
  const third = await start(taken, { SOURCE_URL: 'http://127.0.0.1:1/v2' }, directory).ended;
  expect([third.exitCode, third.stderr]).toEqual([2, expect.stringContaining('PORT_IN_USE')]);
  expect(readdirSync(directory)).toEqual([]);

  // Neither a stream nor an idle or incomplete connection holds up its end.
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
  await Promise.all([...ends, dashboard.ended]);
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining('serve stopped')]);
  expect(stderr).not.toMatch(/did not close|keeps its own role/);
  expect(stderr.split('Server listening')[1]).not.toContain('waiting for');
  expect(stderr).not.toContain(key);
});

it('keeps answering while it drains, and reports on /readyz that it stops', async () => {
  const { service, address, root } = await startService({ ...(await migrated()), SERVE_DRAIN_SECONDS: '60' });
  service.kill('SIGTERM');
  const ready = async () => (await fetch(`${root}readyz`)).status;
  await waitFor('the drain', async () => (await ready()) === 503);
  expect((await fetch(`${address}/rates`)).status).toBe(200);
  // A second signal, and not the terminal's copy of the first, ends the process at once.
  await waitFor('the end', async () => {
    service.kill('SIGTERM');
    return (await Promise.race([service.ended, null])) !== null;
  });
});

it('answers 503 while its database is silent or away, tells open dashboards, and recovers by itself', async () => {
  const { DATABASE_URL: url } = await migrated();
  const proxy = await proxyTo(url);
  const { address, root } = await startService({
    ...{ DATABASE_URL: proxy.url, REDIS_URL: '', SERVE_STATEMENT_TIMEOUT_SECONDS: '1' },
    SERVE_PER_MINUTE: '0',
  });
  const four = (path: () => string) => Promise.all(Array.from({ length: 4 }, async () => (await fetch(path())).status));
  // The service caches the answer to a request.
  let rows = 0;
  const assets = () =>
    four(() => {
      rows += 1;
      return `${address}/assets?limit=${rows}`;
    });
  const problems = () => four(() => `${root}dashboard/problems`);
  const all = (status: number) => [status, status, status, status];
  expect(await assets()).toEqual(all(200));
  proxy.freeze();
  expect(await assets()).toContain(503);
  await waitFor('new connections', async () => (await assets()).every((status) => status === 200));

  const { newest } = await openDashboard(root);
  await waitFor('the state', () => newest() === 'snapshot');
  expect(await problems()).toEqual(all(200));
  proxy.silence();
  expect(await problems()).toEqual(all(503));
  await waitFor('trouble', () => newest() === 'trouble');
  const late = await openDashboard(root);
  await waitFor('trouble on a new page', () => late.newest() === 'trouble');
  proxy.speak();
  await waitFor('the state again', () => newest() === 'change');
  await waitFor('the state on the new page', () => /change|snapshot/.test(late.newest() ?? ''));
  expect(await problems()).toEqual(all(200));

  const server = new pg.Client({ connectionString: new URL('/postgres', url).href });
  await server.connect();
  onTestFinished(() => server.end());
  const database = new URL(url).pathname.slice(1);
  const statuses = async () => [(await fetch(`${address}/rates`)).status, (await fetch(`${root}readyz`)).status];
  await server.query(`alter database ${database} allow_connections false`);
  await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database]);
  await waitFor('the end of its connections', async () => (await statuses()).join() === '503,503');
  await server.query(`alter database ${database} allow_connections true`);
  await waitFor('new connections', async () => (await statuses()).join() === '200,200');
});

it('has no token in the log where other machines reach the address, but in a file of its user', async () => {
  const env = await migrated();
  const service = start(['serve', '--port', '0'], { ...env, SERVE_HOST: '0.0.0.0', DASHBOARD: 'on' });
  await waitFor('the file', () => /their address is in (\S+)\n/.test(service.stdout()));
  const [, file = ''] = /their address is in (\S+)\n/.exec(service.stdout()) ?? [];
  const [, root, token] = /^(http:\/\/127\.0\.0\.1:\d+\/)#token=(\S+)\n$/.exec(readFileSync(file, 'utf8')) ?? [];
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(service.stdout() + service.stderr()).not.toContain(token);
  const pause = (headers: Record<string, string>) =>
    fetch(`${root}dashboard/actions/pause`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{}',
    });
  expect((await pause({})).status).toBe(401);
  expect((await pause({ 'x-tidemark-token': token ?? '' })).status).toBe(200);
  service.kill('SIGTERM');
  expect((await service.ended).exitCode).toBe(0);
});
