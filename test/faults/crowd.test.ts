import { expect } from 'vitest';
import { cut } from '../../model/ranges.ts';
import { fillOf } from '../parts/windows.ts';
import { openPipeline } from '../pipeline/run-pipeline.ts';
import { onEachBackend, openQueue } from '../queue/queue-parts.ts';
import { beginBackfill, concurrency, windowMs } from './backfill.ts';
import { seededTest } from './seeded.ts';
import { expectWhole, untilWhole, watch } from './witness.ts';

onEachBackend('a backfill', (kind) => {
  seededTest('requests every window once with two schedulers and four workers', async (chance) => {
    const requestsPerMinute = 3000;
    const faults = { latencyMs: chance.whole(0, 40) };
    const backfill = await beginBackfill(kind, chance, { windows: 100, requestsPerMinute, faults });
    const watching = watch(backfill);
    // Each has connections of its own, as on separate hosts.
    const ownQueues = () => openQueue(backfill.pipeline.queueOptions, { attempts: 1 });
    for (let place = 0; place < 2; place += 1) {
      await backfill.pipeline.startScheduler({ ...backfill.scheduler, queues: await ownQueues() });
    }
    for (let place = 0; place < 4; place += 1) {
      await backfill.pipeline.startWorker({ ...backfill.worker, queues: await ownQueues() });
    }
    await untilWhole(backfill);
    await watching.stop();
    await expectWhole(backfill);
    backfill.expectFewRequests({ extra: 0, underWay: 4 * concurrency });
  });

  seededTest('stores each window once when windows are queued twice', async (chance) => {
    const faults = { latencyMs: chance.whole(0, 40) };
    const backfill = await beginBackfill(kind, chance, { windows: 30, faults });
    const { pipeline, clock, simulator } = backfill;
    const windows = [...backfill.tracked].flatMap(([seriesId, series]) =>
      [...cut(backfill.range(), windowMs)].map((range) => fillOf({ seriesId, series, ...range })),
    );
    // In one queue a window is one job, however often it is added.
    for (let place = 0; place < 3; place += 1) await pipeline.queues.requests.addWindows(windows);
    expect(await pipeline.queues.requests.depth()).toMatchObject({ waiting: windows.length });
    // The queue of another installation on the same database does not know these jobs, and commits the same windows
    // concurrently.
    const other = await openPipeline(kind, clock, simulator.url, { store: pipeline, attempts: 1 });
    await other.queues.requests.addWindows([...windows].reverse());
    const watching = watch(backfill);
    await Promise.all([pipeline.startWorker(backfill.worker), other.startWorker(backfill.worker)]);
    await backfill.requestsInAll(2 * windows.length);
    await pipeline.backfill(backfill.worker, backfill.scheduler);
    await other.backfill(backfill.worker, backfill.scheduler);
    await watching.stop();
    await expectWhole(backfill);
    expect(backfill.requestsForWindows()).toBe(2 * windows.length);
  });
});
