import { expect, onTestFinished, test } from 'vitest';
import { openQueueBackend, type QueueBackendOptions } from '../../queue/backend.ts';
import { done, windowJobId } from '../../queue/jobs.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { waitFor } from '../parts/wait-for.ts';
import { proxyTo } from './cuttable-proxy.ts';
import { collectingLog, onEachBackend, openQueue, prepareQueue, silent, windowAt } from './queue-parts.ts';

onEachBackend('a queue whose store is unreachable', (kind) => {
  test('resumes when the store is back, loses nothing, and logs a few lines', async () => {
    const options = await prepareQueue(kind);
    const proxy = await proxyTo(options.redisUrl ?? options.databaseUrl);
    const cuttable: QueueBackendOptions =
      kind === 'redis' ? { ...options, redisUrl: proxy.url } : { ...options, databaseUrl: proxy.url };
    const lines: string[] = [];
    const queues = await openQueueBackend({ ...cuttable, attempts: 3, log: collectingLog(lines) });
    onTestFinished(() => queues.close());
    const beside = await openQueue(options);

    const ran = new Arrivals<string>();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const worker = queues.startRequestWorker(
      async (attempt) => {
        ran.push(attempt.id);
        if (ran.length === 2) await held;
        return done;
      },
      { concurrency: 1, limiter: null, lockMs: 1000 },
    );
    onTestFinished(() => worker.close(0));
    await queues.requests.addWindows([windowAt(1), windowAt(2), windowAt(3)]);
    await ran.until(2);

    await proxy.cut();
    release();
    await expect(queues.requests.depth()).rejects.toThrow();
    if (kind === 'redis') {
      // Whichever call meets the outage first: a plain error would be taken for one of the database.
      const calls = [
        queues.requests.claimedWindows(),
        queues.requests.addWindows([windowAt(5)]),
        queues.requests.pausedForMs(),
        queues.requests.countWorkers(),
        queues.planning.countWorkers(),
        queues.connectedBudgets(),
      ];
      const expected = { status: 'rejected', reason: { code: 'QUEUE_UNREACHABLE' } };
      expect(await Promise.allSettled(calls)).toMatchObject(calls.map(() => expected));
    }
    // Another host adds a window during the outage.
    await beside.requests.addWindows([windowAt(4)]);
    await proxy.mend();

    await waitFor('an empty queue', async () => {
      const { waiting, active, delayed } = await beside.requests.depth();
      return waiting + active + delayed === 0;
    });
    expect(new Set(ran).size).toBe(4);
    expect(await queues.requests.depth()).toEqual({ waiting: 0, active: 0, delayed: 0 });
    expect(lines.length).toBeGreaterThan(0);
    // A minute of silence follows each line of a cause, however long the outage takes here.
    const loggedMs = new Map<string, number>();
    for (const line of lines) {
      const { time, cause }: { time: number; cause: string } = JSON.parse(line);
      const key = cause.replace(/[0-9a-f-]{8,}|\d+/g, '#');
      expect(time - (loggedMs.get(key) ?? 0), key).toBeGreaterThan(59_000);
      loggedMs.set(key, time);
    }
    expect(loggedMs.size).toBeLessThan(12);
  });
});

// BullMQ waits for the next delayed job, and relies on notifications until then.
test.each([
  ['nothing is delayed', []],
  ['the next retry is in an hour', [windowAt(0)]],
])(
  'a queue on PostgreSQL replaces connections that stop responding, while %s',
  { timeout: 200_000 },
  async (_, delayed) => {
    const { options, proxy, queues } = await openBehindProxy();
    const beside = await openQueue(options);
    const ran = new Arrivals<string>();
    const retried = new Set(delayed.map(windowJobId));
    const worker = queues.startRequestWorker(
      async (attempt) => {
        ran.push(attempt.id);
        return retried.has(attempt.id) ? { kind: 'retry', inMs: 3_600_000, counted: true } : done;
      },
      { concurrency: 1, limiter: null, lockMs: 1000 },
    );
    onTestFinished(() => worker.close(0));
    await queues.requests.addWindows([...delayed, windowAt(1)]);
    await ran.until((all) => new Set(all).size === delayed.length + 1);

    proxy.freeze();
    await expect(queues.requests.depth()).rejects.toThrow(/read timeout/i);
    await beside.requests.addWindows([windowAt(2)]);
    // Each of the worker's connections may time out, one after the other.
    await ran.until((all) => new Set(all).size === delayed.length + 2);
    // The end of a job may be lost with a connection; then it runs again.
    await waitFor('the end of every other job', async () => {
      const depth = await queues.requests.depth();
      return depth.waiting + depth.active === 0 && depth.delayed === delayed.length;
    });
  },
);

test('a queue on PostgreSQL that is first used during an outage works when that is over', async () => {
  const { proxy, queues } = await openBehindProxy();
  await proxy.cut();
  const requests = queues.requestsOf('kraken');
  await expect(requests.depth()).rejects.toThrow();
  await proxy.mend();

  await requests.addWindows([windowAt(1)]);
  expect(await requests.depth()).toEqual({ waiting: 1, active: 0, delayed: 0 });
});

async function openBehindProxy() {
  const options = await prepareQueue('postgres');
  const proxy = await proxyTo(options.databaseUrl);
  const queues = await openQueueBackend({ ...options, databaseUrl: proxy.url, attempts: 3, log: silent });
  onTestFinished(() => queues.close());
  return { options, proxy, queues };
}
