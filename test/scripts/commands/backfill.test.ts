import { expect, inject, it } from 'vitest';
import { waitFor } from '../../parts/wait-for.ts';
import { serveBody } from '../../sources/local-server.ts';
import { openWatched } from './watch-list-parts.ts';

const candles = 'backfill candles --exchange binance --base bitcoin --quote tether';
const noGap = { sourceOutage: null, sourceOutages: [], gaps: [], quarantined: [] };
const nowhere = { SOURCE_URL: 'http://127.0.0.1:1/v2' };

it('fills a range, and does nothing the second time', async () => {
  const { json, simulator } = await openWatched();
  const backfill = `${candles} --interval m1,h1 --from 2024-03-01 --to 2024-03-06`;
  const first = await json(backfill);
  expect(first).toMatchObject({ windowsLeft: 0, awaiting: 0, interrupted: false, rollups: 'current' });
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
  const { fails, say, json } = await openWatched();
  await fails(`${candles} --interval m1 --from 2024-03-01 --to 2024-03-26`, 4, 'SOURCE_UNREACHABLE', nowhere);
  expect(await json('status')).toMatchObject({ queue: { waiting: 0, delayed: 0, active: 0 } });

  const message = 'This version is being retired';
  const { baseUrl } = await serveBody({ data: { message }, timestamp: 1 }, 429);
  const hours = `${candles} --interval h1 --from 2024-03-01 --to 2024-03-03`;
  const notice = /^tidemark: SOURCE_NOTICE: .*This version is being retired; /;
  await fails(hours, 4, notice, { SOURCE_URL: baseUrl });
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
