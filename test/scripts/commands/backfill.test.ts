import { expect, inject, it } from 'vitest';
import { waitFor } from '../../parts/wait-for.ts';
import { proxyTo } from '../../queue/cuttable-proxy.ts';
import { serveBody } from '../../source/local-server.ts';
import { openWatched } from './watch-list-parts.ts';

const candles = 'backfill candles --exchange binance --base bitcoin --quote tether';
const noGap = { sourceOutage: null, gaps: [], quarantined: [] };
const nowhere = { SOURCE_URL: 'http://127.0.0.1:1/v2' };

it('fills a range, and does nothing the second time', async () => {
  const { json, simulator } = await openWatched();
  const backfill = `${candles} --interval m1,h1 --from 2024-03-01 --to 2024-03-06`;
  const first = await json(backfill);
  expect(first).toMatchObject({ windowsLeft: 0, awaiting: 0, interrupted: false });
  expect(first.requests).toBe(simulator.requests().total);
  expect(await json(backfill)).toMatchObject({ requests: 0, points: 0 });
  expect(simulator.requests().total).toBe(first.requests);

  const covered = { missingSeconds: 0, gaps: 0, coveredSeconds: 5 * 86_400 };
  const status = await json<{ series: { points: number }[] }>('status');
  expect(status).toMatchObject({
    queue: { backend: inject('redisUrl') === null ? 'postgres' : 'redis' },
    series: [covered, covered],
  });
  expect(status.series.reduce((sum, { points }) => sum + points, 0)).toBe(first.points);
  expect(await json('gaps')).toEqual(noGap);
});

it('fills whole periods, with one request per window', async () => {
  const { json, simulator } = await openWatched();
  const bounds = '--from 2024-03-01T06:30:10Z --to 2024-03-03T06:30Z';
  expect(await json(`${candles} --interval m1,h1,d1 ${bounds}`)).toMatchObject({
    ...{ windowsLeft: 0, awaiting: 0, rollups: 'current' },
  });
  expect(await json('gaps')).toEqual(noGap);
  expect((await json('status')).series).toMatchObject([
    { coveredSeconds: 2 * 86_400 },
    { coveredSeconds: 49 * 3600, points: 49 },
    { coveredSeconds: 3 * 86_400, points: 3 },
  ]);
  // Two days of minutes, and one of each other.
  expect(simulator.requests().total).toBe(4);
});

it('stops at Ctrl-C, and then fetches only the rest', async () => {
  const { begin, say, json, simulator } = await openWatched();
  const backfill = `${candles} --interval m1 --from 2024-03-01 --to 2024-03-21`;
  const running = begin(backfill, { SOURCE_REQUESTS_PER_MINUTE: '30' });
  await waitFor('some windows to be fetched', () => simulator.requests().total >= 2);
  running.kill('SIGINT');
  const stopped = await running.ended;
  expect(stopped.exitCode).toBe(130);
  expect(stopped.stderr).toMatch(/INTERRUPTED: .*run the same command again/);
  expect(simulator.requests().total).toBeLessThan(20);
  expect(await json('status')).toMatchObject({ queue: { waiting: 0, delayed: 0, active: 0 } });

  await say(backfill);
  // A request that was under way when the signal came may have to be made again.
  expect(simulator.requests().total).toBeGreaterThanOrEqual(20);
  expect(simulator.requests().total).toBeLessThanOrEqual(20 + 16);
  expect(await json('gaps')).toEqual(noGap);
});

it('leaves nothing in the queue when it fails, and ends with the message of the source, which status shows', async () => {
  const { run, say, json } = await openWatched();
  const backfill = `${candles} --interval m1 --from 2024-03-01 --to 2024-03-26`;
  expect((await run(backfill, nowhere)).stderr).toMatch(/SOURCE_UNREACHABLE/);
  expect(await json('status')).toMatchObject({ queue: { waiting: 0, delayed: 0, active: 0 } });

  const message = 'This version is being retired';
  const { baseUrl } = await serveBody({ data: { message }, timestamp: 1 }, 429);
  const hours = `${candles} --interval h1 --from 2024-03-01 --to 2024-03-03`;
  const ended = await run(hours, { SOURCE_URL: baseUrl });
  expect(ended.exitCode).toBe(4);
  expect(ended.stderr).toMatch(/^tidemark: SOURCE_NOTICE: .*This version is being retired; /);
  expect(await say('status')).toMatch(
    /^the source answers with a service message, .*: .*This version is being retired$/m,
  );
  expect(await json('status')).toMatchObject({ notice: { message: expect.stringContaining(message) } });
  // Given again, the command asks again, and does not wait for the pause of the one before.
  await say(hours);
  expect(await say('status')).not.toMatch(/instead of data/);
});

it('questions a name for which no point was returned', async () => {
  const { say, simulator } = await openWatched();
  simulator.setFaults({ emptyRate: 1 });
  const hours = `${candles} --interval h1 --from 2024-03-01 --to 2024-03-03`;
  const text = await say(hours, { EMPTY_CONFIRM_SECONDS: '0' });
  expect(text.trimEnd().split('\n').at(-1)).toMatch(
    /^complete: .*; no point was ever returned for binance bitcoin\/tether h1: is the name right\?$/,
  );
});

it('joins a running scheduler and worker, with the queue of the configuration', async () => {
  const { begin, run, say, json } = await openWatched();
  const service = begin('run --no-serve');
  await waitFor('the worker', async () => (await run('status --check worker')).exitCode === 0);
  // It could not fetch anything itself.
  await say(`${candles} --interval m1 --from 2024-03-01 --to 2024-03-04`, nowhere);
  service.kill('SIGTERM');
  expect((await service.ended).exitCode).toBe(0);
  expect(await json('gaps')).toEqual(noGap);
});

it('waits for an unreachable database, and continues when it is back', async () => {
  const { begin, url, simulator } = await openWatched();
  const proxy = await proxyTo(url);
  const running = begin(`${candles} --interval m1 --from 2024-03-01 --to 2024-03-31`, {
    ...{ DATABASE_URL: proxy.url, SOURCE_REQUESTS_PER_MINUTE: '300' },
  });
  await waitFor('its first requests', () => simulator.requests().total >= 2);
  await proxy.cut();
  const away = /^tidemark: DATABASE_UNREACHABLE: [^\n]+; retrying until [\d: -]+Z, \d+ s so far$/m;
  await waitFor('the absence to be said', () => away.test(running.stderr()));
  await proxy.mend();
  const { exitCode, stdout } = await running.ended;
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^complete: /m);
});
