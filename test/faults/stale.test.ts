import { expect } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import { graceMs, openPipeline, simulate } from '../pipeline/run-pipeline.ts';
import { coverageOf, revisionsOf, storedPoints, truthOf } from '../pipeline/stored.ts';
import { onEachBackend, bitcoinHours as series } from '../queue/queue-parts.ts';
import { seededTest } from './seeded.ts';

const noonMs = Date.UTC(2024, 2, 1, 12);
const startMs = noonMs - 6 * hourMs;

onEachBackend('a stale copy of an older answer', (kind) => {
  seededTest('does not undo periods that have closed since, and is not stored as a revision', async (chance) => {
    const clock = { nowMs: noonMs + graceMs };
    const simulator = await simulate(clock, { seed: chance.seed });
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const seriesId = await pipeline.track(series, startMs, null);
    const scheduler = await pipeline.startScheduler({ refresh: true });
    await pipeline.startWorker();
    await scheduler.settled();
    const closed = { startMs, endMs: noonMs };
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([closed]);

    // A copy from before noon, when the last hour was still open.
    simulator.setFaults({ staleRate: 1, staleMs: chance.whole(10, 50) * minuteMs });
    for (let reads = 0; reads < 3; reads += 1) {
      const { total } = simulator.requests();
      clock.nowMs += chance.whole(11, 60) * 1000;
      await scheduler.settled();
      expect(simulator.requests().total).toBeGreaterThan(total);
      const stored = await storedPoints(pipeline.database, series);
      expect(stored.slice(0, 6)).toEqual(truthOf(simulator, series, closed));
      expect(await coverageOf(pipeline.database, seriesId)).toEqual([closed]);
      expect(await revisionsOf(pipeline.database, seriesId)).toEqual([]);
    }
  });
});
