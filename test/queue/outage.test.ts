import { expect, onTestFinished, test } from 'vitest';
import { openQueueBackend, type QueueBackendOptions } from '../../queue/backend.ts';
import { done } from '../../queue/jobs.ts';
import { waitFor } from '../parts/wait-for.ts';
import { proxyTo } from './cuttable-proxy.ts';
import { collectingLog, onEachBackend, openQueue, prepareQueue, windowAt } from './queue-parts.ts';

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

    const ran: string[] = [];
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
    await waitFor('a job under way', () => ran.length === 2);

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
    expect(lines.length).toBeLessThan(12);
  });
});

test('a queue on PostgreSQL replaces connections that stop responding', async () => {
  const options = await prepareQueue('postgres');
  const proxy = await proxyTo(options.databaseUrl);
  const lines: string[] = [];
  const queues = await openQueueBackend({
    ...options,
    databaseUrl: proxy.url,
    attempts: 3,
    log: collectingLog(lines),
  });
  onTestFinished(() => queues.close());
  const beside = await openQueue(options);
  const ran = new Set<string>();
  const worker = queues.startRequestWorker(
    async (attempt) => {
      ran.add(attempt.id);
      return done;
    },
    { concurrency: 1, limiter: null, lockMs: 1000 },
  );
  onTestFinished(() => worker.close(0));
  await queues.requests.addWindows([windowAt(1)]);
  await waitFor('a job that ran', () => ran.size === 1);

  proxy.freeze();
  await expect(queues.requests.depth()).rejects.toThrow(/read timeout/i);
  await beside.requests.addWindows([windowAt(2)]);
  await waitFor('the windows that were added meanwhile', () => ran.size === 2);
  expect(await queues.requests.depth()).toEqual({ waiting: 0, active: 0, delayed: 0 });
});
