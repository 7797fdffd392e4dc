import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../simulator/start.ts';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';
import { serveBody } from '../../source/local-server.ts';
import { market, start, tidemark } from '../command.ts';
import { openWatched } from './watch-list-parts.ts';

async function environment() {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const simulator = await startSimulator({ perMinute: null });
  onTestFinished(() => simulator.close());
  const env: Record<string, string> = {
    DATABASE_URL: url,
    SOURCE_URL: simulator.url,
    SOURCE_REQUESTS_PER_MINUTE: '0',
    PLANNING_TICK_MS: '200',
    // A namespace of the test's own: Redis is shared by all of them.
  };
  return { env, simulator };
}

async function waitingIn(env: Record<string, string>): Promise<number> {
  const { queue } = JSON.parse((await tidemark(['status', '--json'], env)).stdout);
  return queue.waiting + queue.delayed + queue.active;
}

const days = (count: number) => [
  '--from',
  '2024-03-01',
  '--to',
  `2024-03-${String(1 + count).padStart(2, '0')}`,
];

it('fills a range, and does nothing the second time', async () => {
  const { env, simulator } = await environment();
  const backfill = ['backfill', 'candles', ...market, '--interval', 'm1,h1', ...days(5), '--json'];
  const first = await tidemark(backfill, env);
  expect(first.stderr).toBe('');
  expect(first.exitCode).toBe(0);
  const outcome = JSON.parse(first.stdout);
  expect(outcome).toMatchObject({ windowsLeft: 0, awaiting: 0, interrupted: false });
  expect(outcome.requests).toBe(simulator.requests().total);

  const second = await tidemark(backfill, env);
  expect(second.exitCode).toBe(0);
  expect(JSON.parse(second.stdout)).toMatchObject({ requests: 0, points: 0 });
  expect(simulator.requests().total).toBe(outcome.requests);

  const status = JSON.parse((await tidemark(['status', '--json'], env)).stdout);
  expect(status.queue.backend).toBe('postgres');
  expect(status.series).toHaveLength(2);
  for (const series of status.series) {
    expect(series).toMatchObject({ missingSeconds: 0, gaps: 0, coveredSeconds: 5 * 86_400 });
  }
  expect(status.series.reduce((sum: number, one: { points: number }) => sum + one.points, 0)).toBe(
    outcome.points,
  );
  expect(JSON.parse((await tidemark(['gaps', '--json'], env)).stdout)).toEqual({
    sourceOutage: null,
    gaps: [],
    quarantined: [],
  });
});

it('fills whole periods, with one request per window', async () => {
  const { env, simulator } = await environment();
  const bounds = ['--from', '2024-03-01T06:30:10Z', '--to', '2024-03-03T06:30Z'];
  const result = await tidemark(
    ['backfill', 'candles', ...market, '--interval', 'm1,h1,d1', ...bounds, '--json'],
    env,
  );
  expect(JSON.parse(result.stdout)).toMatchObject({ windowsLeft: 0, awaiting: 0, rollups: 'current' });
  expect(JSON.parse((await tidemark(['gaps', '--json'], env)).stdout)).toEqual({
    sourceOutage: null,
    gaps: [],
    quarantined: [],
  });
  const { series } = JSON.parse((await tidemark(['status', '--json'], env)).stdout);
  expect(series.map((one: { coveredSeconds: number }) => one.coveredSeconds)).toEqual([
    2 * 86_400,
    49 * 3600,
    3 * 86_400,
  ]);
  expect(series.slice(1).map((one: { points: number }) => one.points)).toEqual([49, 3]);
  // Two days of minutes, and one of each other.
  expect(simulator.requests().total).toBe(4);
});

it('stops at Ctrl-C, and then fetches only the rest', async () => {
  const { env, simulator } = await environment();
  const whole = days(20);
  const limited = { ...env, SOURCE_REQUESTS_PER_MINUTE: '600' };
  const running = start(['backfill', 'candles', ...market, '--interval', 'm1', ...whole], limited);
  await waitFor('some windows to be fetched', () => simulator.requests().total >= 5);
  running.kill('SIGINT');
  const stopped = await running.ended;
  expect(stopped.exitCode).toBe(130);
  expect(stopped.stderr).toMatch(/INTERRUPTED: .*run the same command again/);
  const before = simulator.requests().total;
  expect(before).toBeLessThan(20);
  expect(await waitingIn(env)).toBe(0);

  const rest = await tidemark(['backfill', 'candles', ...market, '--interval', 'm1', ...whole], env);
  expect(rest.exitCode).toBe(0);
  // A request that was under way when the signal came may have to be made again.
  expect(simulator.requests().total).toBeGreaterThanOrEqual(20);
  expect(simulator.requests().total).toBeLessThanOrEqual(20 + 16);
  expect(JSON.parse((await tidemark(['gaps', '--json'], env)).stdout)).toEqual({
    sourceOutage: null,
    gaps: [],
    quarantined: [],
  });
});

it('leaves nothing in the queue when it fails', async () => {
  const { env } = await environment();
  const nowhere = { ...env, SOURCE_URL: 'http://127.0.0.1:1/v2' };
  const ended = await tidemark(['backfill', 'candles', ...market, '--interval', 'm1', ...days(25)], nowhere);
  expect(ended.stderr).toMatch(/SOURCE_UNREACHABLE/);
  expect(await waitingIn(env)).toBe(0);
});

it('ends with the message of the source, and status shows it', async () => {
  const { env } = await environment();
  const serviceMessage = { data: { message: 'This version is being retired' }, timestamp: 1 };
  const { baseUrl } = await serveBody(serviceMessage, 429);
  const backfill = ['backfill', 'candles', ...market, '--interval', 'h1', ...days(2)];
  const ended = await tidemark(backfill, { ...env, SOURCE_URL: baseUrl });
  expect(ended.exitCode).toBe(4);
  expect(ended.stderr).toMatch(/^tidemark: SOURCE_NOTICE: .*This version is being retired; /);
  const status = await tidemark(['status'], env);
  expect(status.stdout).toMatch(
    /^the source answers with a service message, .*: .*This version is being retired$/m,
  );
  const { notice: shown } = JSON.parse((await tidemark(['status', '--json'], env)).stdout);
  expect(shown.message).toContain('This version is being retired');
  // Given again, the command asks again, and does not wait for the pause of the one before.
  expect(await tidemark(backfill, env)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await tidemark(['status'], env)).not.toMatchObject({
    stdout: expect.stringMatching(/instead of data/),
  });
});

it('questions a name for which no point was returned', async () => {
  const { env, simulator } = await environment();
  simulator.setFaults({ emptyRate: 1 });
  const backfill = ['backfill', 'candles', ...market, '--interval', 'h1', ...days(2)];
  const ended = await tidemark(backfill, { ...env, EMPTY_CONFIRM_SECONDS: '0' });
  expect(ended.exitCode).toBe(0);
  expect(ended.stdout.trimEnd().split('\n').at(-1)).toMatch(
    /^complete: .*; no point was ever returned for binance bitcoin\/tether h1: is the name right\?$/,
  );
});

it('joins a running scheduler and worker', async () => {
  const { env } = await environment();
  const service = start(['run'], { ...env, RATES_SECONDS: '0' });
  await waitFor(
    'the worker',
    async () => (await tidemark(['status', '--check', 'worker'], env)).exitCode === 0,
  );
  const backfill = await tidemark(['backfill', 'candles', ...market, '--interval', 'm1', ...days(3)], {
    ...env,
    // It could not fetch anything itself.
    SOURCE_URL: 'http://127.0.0.1:1/v2',
  });
  expect(backfill.stderr).toBe('');
  expect(backfill.exitCode).toBe(0);
  service.kill('SIGTERM');
  expect((await service.ended).exitCode).toBe(0);
});

it('waits for an unreachable database, and continues when it is back', async () => {
  const watched = await openWatched();
  const proxy = await proxyTo(watched.url);
  const words =
    'backfill candles --exchange binance --base bitcoin --quote tether --interval m1 --from 2024-03-01 --to 2024-03-31';
  const through = { DATABASE_URL: proxy.url, SOURCE_REQUESTS_PER_MINUTE: '300' };
  const running = watched.begin(words, through);
  await waitFor('its first requests', () => watched.simulator.requests().total >= 2);
  await proxy.cut();
  const away = /^tidemark: DATABASE_UNREACHABLE: [^\n]+; retrying until [\d: -]+Z, \d+ s so far$/m;
  await waitFor('the absence to be said', () => away.test(running.stderr()));
  await proxy.mend();
  const { exitCode, stdout } = await running.ended;
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^complete: /m);
});
