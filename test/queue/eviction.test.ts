import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { openQueueBackend } from '../../queue/backend.ts';
import { done } from '../../queue/jobs.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { proxyTo } from './cuttable-proxy.ts';
import { collectingLog, prepareQueue } from './queue-parts.ts';

describeNeeding('redis', 'a Redis that may evict the queue', () => {
  test('causes one warning, in the log only, and only in processes that work on the queue', async () => {
    const options = await prepareQueue('redis');
    // All tests share Redis itself. The reply carries its length, so the length must stay.
    const retell = (said: Buffer) =>
      Buffer.from(
        said.toString('latin1').replace('maxmemory_policy:noeviction', 'maxmemory_policy:allkeys-10'),
        'latin1',
      );
    const proxy = await proxyTo(inject('redisUrl') ?? '', retell);
    const printed = vi.spyOn(console, 'warn').mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    const lines: string[] = [];
    const log = collectingLog(lines);
    const queues = await openQueueBackend({ ...options, redisUrl: proxy.url, attempts: 1, log });
    expect(await queues.requests.depth()).toMatchObject({ waiting: 0 });
    expect(lines).toEqual([]);

    const settings = { concurrency: 1, limiter: null };
    const requests = queues.startRequestWorker(async () => done, settings);
    const planning = queues.startPlanningWorker(async () => done, settings);
    await Promise.all([requests.ready(), planning.ready()]);
    await Promise.all([requests.close(0), planning.close(0)]);
    await queues.close();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('maxmemory-policy is allkeys-10, and should be noeviction');
    expect(printed).not.toHaveBeenCalled();
  });
});
