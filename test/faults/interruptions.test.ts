import { expect } from 'vitest';
import { hourMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/series/status.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import {
  emptyConfirmMs,
  failedRetryMs,
  graceMs,
  openPipeline,
  type Pipeline,
  simulate,
} from '../pipeline/run-pipeline.ts';
import { coverageOf, storedPoints, truthOf } from '../pipeline/stored.ts';
import { seededTest } from './seeded.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const series: SeriesKey = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'h1',
};
const range = { startMs: Date.UTC(2024, 1, 1), endMs: Date.UTC(2024, 1, 11) };
const windows = 40;
const rangeLimits = { candles: { h1: 6 * hourMs } };
const settings = { concurrency: 4, attempts: 1, failedRetryMs, emptyConfirmMs, graceMs };

async function expectNothingLost(pipeline: Pipeline, simulator: RunningSimulator): Promise<void> {
  const { database } = pipeline;
  const truth = truthOf(simulator, series, range);
  expect(await storedPoints(database, series)).toEqual(truth);
  const [status] = await seriesStatus(database, { nowMs, graceMs });
  expect(status).toMatchObject({ missingMs: 0, points: truth.length });
  expect(await coverageOf(database, status?.seriesId ?? 0)).toEqual([range]);
  expect(await listGaps(database, { nowMs, graceMs })).toEqual([]);
}

describeNeeding('redis', 'a backfill that began on one queue', () => {
  seededTest('continues on another queue, and repeats no request', async (chance) => {
    const clock = { nowMs };
    const simulator = await simulate(clock, { faults: { latencyMs: 50 }, seed: chance.seed });
    const pipeline = await openPipeline('postgres', clock, simulator.url, { attempts: 1 });
    await pipeline.track(series, range.startMs, range.endMs);
    const scheduler = await pipeline.startScheduler({ rangeLimits });
    const worker = await pipeline.startWorker({ settings });
    await waitFor('some requests', () => simulator.requests().total >= windows / 4);
    await scheduler.close();
    await worker.close();
    expect(simulator.requests().total).toBeLessThan(windows);

    const moved = await openPipeline('redis', clock, simulator.url, { attempts: 1, store: pipeline });
    await moved.backfill({}, { rangeLimits });
    await expectNothingLost(moved, simulator);
    expect(simulator.requests().total).toBe(windows);
  });
});
