import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, type TestContext, test } from 'vitest';
import { systemClock } from '../../clock.ts';
import { done } from '../../queue/jobs.ts';
import { openCluster } from '../../queue/redis.ts';
import { redisCounter } from '../../service/admission/request-counter.ts';
import { startSimulator } from '../../simulator/start.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { ownRedisCluster } from '../parts/own-redis-cluster.ts';
import { createTestDatabase } from '../parts/test-database.ts';
import { waitFor } from '../parts/wait-for.ts';
import { market, tidemark } from '../scripts/command.ts';
import { openQueue, windowAt } from './queue-parts.ts';

const sizes = [1, 3];
const parts = { clock: systemClock, databaseUrl: 'postgres://127.0.0.1:1/none' };

/** Queues on a cluster. Several share it like processes on several machines. */
async function queuesOn(context: TestContext, size: number, namespace = `t_${randomBytes(4).toString('hex')}`) {
  const redisUrl = await ownRedisCluster(context, { size });
  return { redisUrl, open: () => openQueue({ ...parts, redisUrl, namespace }) };
}

describe('the queue on a Redis cluster', () => {
  test.for(sizes)('keeps order, spacing and pauses across several workers with %d nodes', async (size, context) => {
    const { open } = await queuesOn(context, size);
    const [one, other] = [await open(), await open()];
    await one.requests.addWindows([windowAt(1), windowAt(2), windowAt(8, 'refresh')]);
    await other.requests.addWindows([windowAt(2)]);
    expect((await other.requests.claimedWindows()).load).toMatchObject({ refresh: 1, backfill: 2 });
    const ran = new Arrivals<number>();
    const starts = new Arrivals<number>();
    const limiter = { max: 1, durationMs: 60 };
    for (const queues of [one, other]) {
      const worker = queues.startRequestWorker(
        async ({ job }) => {
          starts.push(performance.now());
          if ('startMs' in job.data) ran.push(job.data.startMs / 3_600_000);
          return done;
        },
        { concurrency: 4, limiter },
      );
      onTestFinished(() => worker.close(0));
      await worker.ready();
    }
    await ran.until(3);
    expect(ran).toEqual([8, 1, 2]);
    // A worker is visible at the node of the queue, and connects to it when it first waits for a job.
    await waitFor('both workers to be counted', async () => (await one.requests.countWorkers()) === 2);

    starts.length = 0;
    const begun = performance.now();
    await one.requests.addWindows(Array.from({ length: 24 }, (_, place) => windowAt(place + 10)));
    await starts.until(24);
    expect((starts.at(-1) ?? 0) - begun).toBeGreaterThanOrEqual(22 * limiter.durationMs);

    await one.requests.pauseForMs(600_000);
    expect(await other.requests.pausedForMs()).toBeGreaterThan(1);
  });

  test('is rejected at once when a node does not give its address', async (context) => {
    const redisUrl = await ownRedisCluster(context, { size: 1, announced: false });
    const opening = openQueue({ ...parts, redisUrl, namespace: 'tidemark' });
    await expect(opening).rejects.toMatchObject({
      code: 'QUEUE_UNREACHABLE',
      message: expect.stringMatching(/: a node of the cluster does not say where it is: set cluster-announce-ip$/),
    });
  });

  test('serves a whole backfill with three nodes', async (context) => {
    const redisUrl = await ownRedisCluster(context, { size: 3 });
    const { url, drop } = await createTestDatabase();
    onTestFinished(drop);
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const env = { DATABASE_URL: url, REDIS_URL: redisUrl, SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '0' };
    expect(await tidemark(['migrate'], env)).toMatchObject({ exitCode: 0 });
    const words = ['candles', ...market, '--interval', 'm1'];
    const ended = await tidemark(['backfill', ...words, '--from', '2024-03-01', '--to', '2024-03-11'], env);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(simulator.requests().total).toBe(10);
  });

  test('counts the requests of each client on any node', async (context) => {
    const url = await ownRedisCluster(context, { size: 3 });
    const open = () => {
      const counter = redisCounter({
        ...{ url, namespace: 'tidemark', onError: () => {} },
        openCluster: (ofNode) => openCluster(url, ofNode),
      });
      onTestFinished(() => counter.close());
      return counter;
    };
    const [one, other] = [open(), open()];
    // Many at once: the first to learn of another node replaces the connection of the others.
    const callers = Array.from({ length: 20 }, (_, place) => `203.0.113.${place}`);
    const first = await Promise.all(callers.map((caller) => one.count(caller, 2)));
    const second = await Promise.all(callers.map((caller) => other.count(caller, 2)));
    const third = await Promise.all(callers.map((caller) => one.count(caller, 2)));
    expect(first.map(({ used }) => used)).toEqual(callers.map(() => 1));
    expect(second.map(({ used }) => used)).toEqual(callers.map(() => 2));
    expect(third.map(({ admitted }) => admitted)).toEqual(callers.map(() => false));
  });
});
