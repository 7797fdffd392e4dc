/** The page learns within seconds that Redis is gone, and its other figures do not wait for it. */

import { expect, inject, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../clock.ts';
import { createQueueReader } from '../../dashboard/queue.ts';
import { stateReader } from '../../dashboard/state.ts';
import { openQueueBackend } from '../../queue/backend.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { createTestClock } from '../parts/test-clock.ts';
import { proxyTo } from '../queue/cuttable-proxy.ts';
import { prepareQueue, silent } from '../queue/queue-parts.ts';
import { useStore } from '../store/open-store.ts';
import { plainPorts, quietQueue } from './dashboard-world.ts';

const store = useStore();

describeNeeding('redis', 'the queue of the page', () => {
  it.each(['cut', 'freeze'] as const)('is known to be away when Redis is gone (%s), and comes back', async (how) => {
    const proxy = await proxyTo(inject('redisUrl') ?? '');
    const options = { ...(await prepareQueue('redis')), redisUrl: proxy.url };
    const queues = await openQueueBackend({ ...options, attempts: 1, log: silent });
    onTestFinished(() => queues.close());
    const queue = createQueueReader(systemClock, async () => {
      const depth = await queues.requests.depth();
      return { ...quietQueue, depth: { ...quietQueue.depth, ...depth } };
    });
    const read = stateReader({
      ...{ database: store.database, queue, clock: systemClock, ports: plainPorts(store.database) },
      ...{ graceMs: 0, perMinute: 0, synthetic: false },
    });
    expect((await read()).summary.queue).not.toBeNull();
    expect(queue.hasChanged()).toBe(false);

    await proxy[how]();
    await vi.waitFor(() => expect(queue.hasChanged()).toBe(true), { timeout: 30_000, interval: 100 });
    const { summary } = await read();
    expect(summary.queue).toBeNull();
    expect([summary.state.headline, ...summary.state.also].map(({ kind }) => kind)).toContain('queue_away');
    await proxy.cut();
    await proxy.mend();
    await vi.waitFor(() => expect(queue.hasChanged()).toBe(true), { timeout: 30_000, interval: 100 });
    expect((await read()).summary.queue).not.toBeNull();
  });
});

it('a queue that does not answer is told after five seconds, and then waited for no longer', async () => {
  const clock = createTestClock();
  let answers = true;
  const queue = createQueueReader(clock, () => (answers ? Promise.resolve(quietQueue) : new Promise(() => {})));
  expect(await queue.read()).not.toBeNull();
  answers = false;
  await clock.advance(2000);
  expect(queue.hasChanged()).toBe(false);
  await clock.advance(3000);
  expect(queue.hasChanged()).toBe(true);
  const reading = queue.read();
  await clock.advance(250);
  expect(await reading).toBeNull();
  expect(queue.problem()).toBe('no answer for 3 s');
  expect(queue.hasChanged()).toBe(false);
});

it('is not said to have no worker while those that it had connect again', async () => {
  const clock = createTestClock();
  const connected = (schedulers: number) => ({ ...quietQueue, facts: { ...quietQueue.facts, schedulers } });
  let answer = async () => connected(1);
  const queue = createQueueReader(clock, () => answer());
  const schedulers = async () => (await queue.read())?.facts.schedulers;
  expect(await schedulers()).toBe(1);
  answer = () => Promise.reject(new Error('connect ECONNREFUSED'));
  expect(await schedulers()).toBeUndefined();
  answer = async () => connected(0);
  expect(await schedulers()).toBeUndefined();
  expect(queue.problem()).toBe('it is back, and its users connect again');
  await clock.advance(9000);
  expect(await schedulers()).toBeUndefined();
  await clock.advance(1000);
  expect(await schedulers()).toBe(0);
});
