import { expect, onTestFinished } from 'vitest';
import { hourMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/series/status.ts';
import { startChildModule } from '../parts/child-module.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import { standingAt } from '../pipeline/process-clock.ts';
import {
  emptyConfirmMs,
  failedRetryMs,
  graceMs,
  openPipeline,
  type Pipeline,
  simulate,
} from '../pipeline/run-pipeline.ts';
import { coverageOf, storedPoints, truthOf } from '../pipeline/stored.ts';
import type { WorkerProcessSettings } from '../pipeline/worker-process.ts';
import { emptyQueue, onEachBackend } from '../queue/queue-parts.ts';
import { lostLock } from './processes.ts';
import { type Chance, seededTest } from './seeded.ts';

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
const concurrency = 4;
const settings = { concurrency, attempts: 1, failedRetryMs, emptyConfirmMs, graceMs };

async function expectNothingLost(pipeline: Pipeline, simulator: RunningSimulator): Promise<void> {
  const { database } = pipeline;
  const truth = truthOf(simulator, series, range);
  expect(await storedPoints(database, series)).toEqual(truth);
  const [status] = await seriesStatus(database, { nowMs, graceMs });
  expect(status).toMatchObject({ missingMs: 0, points: truth.length });
  expect(await coverageOf(database, status?.seriesId ?? 0)).toEqual([range]);
  expect(await listGaps(database, { nowMs, graceMs })).toEqual([]);
}

/** A source slow enough for a test to interrupt. */
const slowly = { faults: { latencyMs: 50 } };

onEachBackend('a backfill', (kind) => {
  // With one attempt, anything that counted as an attempt would leave a gap.
  async function begin({ seed }: Chance, complaints?: RegExp) {
    const clock = { nowMs };
    const simulator = await simulate(clock, { ...slowly, seed });
    const pipeline = await openPipeline(kind, clock, simulator.url, {
      attempts: 1,
      ...(complaints === undefined ? {} : { complaints }),
    });
    const seriesId = await pipeline.track(series, range.startMs, range.endMs);
    const scheduler = await pipeline.startScheduler({ rangeLimits });
    return { clock, simulator, pipeline, seriesId, scheduler };
  }

  const midway = (simulator: RunningSimulator) =>
    waitFor('some requests', () => simulator.requests().total >= windows / 4);

  seededTest('repeats no request when its worker stops gracefully', async (chance) => {
    const { simulator, pipeline, scheduler } = await begin(chance);
    const first = await pipeline.startWorker({ settings });
    await midway(simulator);
    await first.close();
    const { total } = simulator.requests();
    expect(total).toBeLessThan(windows);
    const [status] = await seriesStatus(pipeline.database, { nowMs, graceMs });
    expect(status?.coveredMs).toBe(total * 6 * hourMs);

    await pipeline.startWorker({ settings });
    await scheduler.settled();
    await expectNothingLost(pipeline, simulator);
    expect(simulator.requests().total).toBe(windows);
  });

  seededTest('resumes the jobs that its worker returned when it stopped at once', async (chance) => {
    const { simulator, pipeline, scheduler } = await begin(chance);
    const first = await pipeline.startWorker({ settings });
    await midway(simulator);
    simulator.setFaults({ timeoutRate: 1 });
    await waitFor('requests without an answer', () => simulator.requests().byFault.timeout === concurrency);
    await first.close(0);
    expect(await pipeline.queues.requests.depth()).toMatchObject({ active: 0 });
    simulator.setFaults({});

    await pipeline.startWorker({ settings });
    await scheduler.settled();
    await expectNothingLost(pipeline, simulator);
    expect(simulator.requests().total).toBe(windows + concurrency);
  });

  seededTest(
    'has each window completely or not at all when its worker is killed during commits',
    async (chance) => {
      const { simulator, pipeline, seriesId, scheduler } = await begin(chance, lostLock);
      const { pool } = pipeline.database;
      const lockMs = 1000;
      const applicationName = 'the worker to be killed';
      const words: WorkerProcessSettings = {
        databaseUrl: pipeline.database.url,
        applicationName,
        queueOptions: pipeline.queueOptions,
        sourceUrl: simulator.url,
        clock: standingAt(nowMs),
        attempts: 1,
        worker: settings,
        lockMs,
      };
      const victim = startChildModule('test/pipeline/worker-process.ts', [JSON.stringify(words)]);
      onTestFinished(() => victim.end());
      await victim.waitForPrinted(/works/);
      await midway(simulator);

      // Its commits have written their points and wait for the series' row when the worker dies.
      const blocker = await pool.connect();
      await blocker.query('begin');
      await blocker.query('select from tidemark.series where id = $1 for update', [seriesId]);
      const sessions = async (state: string) => {
        const result = await pool.query<{ count: number }>(
          `select count(*) from pg_stat_activity
         where datname = current_database() and application_name = $1 and ${state}`,
          [applicationName],
        );
        return result.rows[0]?.count ?? 0;
      };
      await waitFor('commits under way, and every window answered', async () => {
        const ledger = await pool.query<{ count: number }>('select count(*) from tidemark.fetches');
        const uncommitted = simulator.requests().total - (ledger.rows[0]?.count ?? 0);
        return uncommitted === concurrency && (await sessions(`wait_event_type = 'Lock'`)) > 0;
      });
      const before = simulator.requests().total;
      await victim.end('SIGKILL');
      await blocker.query('commit');
      blocker.release();
      await waitFor('the end of its sessions', async () => (await sessions('true')) === 0);

      const stored = await storedPoints(pipeline.database, series);
      const [status] = await seriesStatus(pipeline.database, { nowMs, graceMs });
      expect(status).toMatchObject({ coveredMs: stored.length * hourMs, points: stored.length });
      expect(stored).toHaveLength((before - concurrency) * 6);
      expect(await pipeline.queues.requests.depth()).toMatchObject({ active: concurrency });

      await pipeline.startWorker({ settings, lockMs });
      await scheduler.settled();
      await expectNothingLost(pipeline, simulator);
      expect(simulator.requests().total).toBe(windows + concurrency);
    },
  );

  seededTest('plans the missing windows again when its queue is lost', async (chance) => {
    const { simulator, pipeline, scheduler } = await begin(chance, /job|lock/i);
    await pipeline.startWorker({ settings });
    await midway(simulator);
    await emptyQueue(pipeline.queueOptions);
    await scheduler.settled();
    await expectNothingLost(pipeline, simulator);
    // Requests in flight when the queue was lost may be repeated.
    expect(simulator.requests().total).toBeLessThanOrEqual(windows + 2 * concurrency);
  });
});

describeNeeding('redis', 'a backfill that began on one queue', () => {
  seededTest('continues on another queue, and repeats no request', async (chance) => {
    const clock = { nowMs };
    const simulator = await simulate(clock, { ...slowly, seed: chance.seed });
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
