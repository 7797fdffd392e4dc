import { expect } from 'vitest';
import { minuteMs } from '../../model/intervals.ts';
import { waitFor } from '../parts/wait-for.ts';
import { failedRetryMs } from '../pipeline/run-pipeline.ts';
import { verdictsOf } from '../pipeline/stored.ts';
import { collectingLog, onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill, concurrency } from './backfill.ts';
import { quickPauses } from './quick-pauses.ts';
import { quickRetries } from './quick-retries.ts';
import { seededTest } from './seeded.ts';
import { expectWhole, untilWhole, watch } from './witness.ts';

onEachBackend('a backfill from a faulty source', (kind) => {
  seededTest('loses nothing when three in ten requests fail, in every way', async (chance) => {
    const backfill = await beginBackfill(kind, chance, {
      windows: 40,
      faults: {
        errorRate: 0.05,
        notFoundRate: 0.04,
        htmlRate: 0.04,
        truncateRate: 0.04,
        resetRate: 0.04,
        timeoutRate: 0.02,
        dripRate: 0.02,
        hugeRate: 0.02,
        rateLimitRate: 0.01,
        rateLimitBurst: 3,
        staleRate: 0.05,
        hugeBytes: 20_000_000,
      },
      // Enough that no window is deferred.
      attempts: 20,
      source: { timeoutMs: 6000 },
      requestsPerMinute: 3000,
    });
    const watching = watch(backfill);
    const { pipeline } = backfill;
    await pipeline.startScheduler(backfill.scheduler);
    const { queues } = quickPauses(pipeline.queues, backfill.clock);
    await pipeline.startWorker({ ...backfill.worker, queues: quickRetries(queues) });
    await untilWhole(backfill);
    await watching.stop();
    await expectWhole(backfill);
    // Every fault cost its own request and no other window's. The ledger has them all.
    const { stale: _, ...faulty } = backfill.simulator.requests().byFault;
    const failed = Object.values(faulty).reduce((sum, count) => sum + count, 0);
    expect(failed).toBeGreaterThan(backfill.windows() / 10);
    backfill.expectFewRequests({ extra: failed });
    const verdicts = await verdictsOf(backfill.database);
    const asked = verdicts.reduce((sum, { requests }) => sum + requests, 0);
    // An empty range at the edge of a window is requested again, with the points beside it.
    const ofParts = backfill.simulator.requests().total - backfill.requestsForWindows();
    expect(asked).toBeGreaterThanOrEqual(backfill.windows() + failed);
    expect(asked).toBeLessThanOrEqual(backfill.windows() + failed + ofParts);
  });

  seededTest(
    'sends one request after each pause while the source is unreachable for minutes, and logs that once',
    async (chance) => {
      const awayMs = 10 * minuteMs;
      const backfill = await beginBackfill(kind, chance, { windows: 60, attempts: 2 });
      const { pipeline, simulator, clock } = backfill;
      const lines: string[] = [];
      const { queues, pausesMs } = quickPauses(pipeline.queues, clock);
      const watching = watch(backfill);
      await pipeline.startScheduler(backfill.scheduler);
      simulator.setFaults({ latencyMs: 20 });
      await pipeline.startWorker({ ...backfill.worker, queues, log: collectingLog(lines) });
      await backfill.requestsMore(chance.whole(5, 30));
      // Requests in flight were sent before.
      clock.nowMs += 1000;
      const awaySinceMs = clock.nowMs;
      const before = simulator.requests().total;
      simulator.setFaults({ errorRate: 1 });
      await pausesMs.until(() => clock.nowMs >= awaySinceMs + awayMs);
      simulator.setFaults({});
      const during = simulator.requests().total - before;

      const growing = pausesMs.filter((ms, place) => place === 0 || ms > Math.max(...pausesMs.slice(0, place)));
      expect(growing).toEqual([1, 2, 4, 8, 10].map((seconds) => seconds * 1000));
      // One after each pause, and before the first one as many as begin before the first answer.
      expect(during).toBeLessThanOrEqual(pausesMs.length + 2 * concurrency);

      // Deferred windows are due again.
      await waitFor('a request after the outage', () => simulator.requests().total > before + during);
      clock.nowMs += failedRetryMs;
      await untilWhole(backfill);
      await watching.stop();
      await expectWhole(backfill);
      expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['the source is answering unusably; retrying']);
    },
  );
});
