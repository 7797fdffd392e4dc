import { expect, onTestFinished, test } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import { type SchedulerOptions, startScheduler } from '../../scheduler/scheduler.ts';
import { recordFetch } from '../../store/ledger/ledger.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { trackSeries } from '../../store/series/series.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { setSeriesSources } from '../parts/series-sources.ts';
import { clockAt } from '../parts/test-clock.ts';
import { waitFor } from '../parts/wait-for.ts';
import { bitcoinHours as candleSeries, emptyQueue, onEachBackend, silent } from '../queue/queue-parts.ts';
import { sourcesOf } from '../sources/source-facts.ts';
import { serveCandles } from '../workers/candle-server.ts';
import { hourMs, ledgerOf, noonMs, openParts, startTestWorker, type WorkerParts } from '../workers/worker-parts.ts';

const rangeLimits = { candles: { h1: 2 * hourMs } };

async function startTestScheduler(parts: WorkerParts, more: Partial<SchedulerOptions> = {}) {
  const scheduler = await startScheduler({
    database: parts.database,
    queues: parts.queues,
    sources: sourcesOf({ rangeLimits }),
    settings: { tickMs: 100, refreshMs: 1000, pollsByDefault: false, backfillShare: 0.2 },
    graceMs: 0,
    refresh: false,
    log: silent,
    clock: clockAt(() => noonMs),
    ...more,
  });
  onTestFinished(() => scheduler.close());
  return scheduler;
}

function noGapLeft(parts: WorkerParts): Promise<void> {
  return waitFor(
    'no gap to be left',
    async () => (await listGaps(parts.database, { nowMs: noonMs, graceMs: 0 })).length === 0,
  );
}

onEachBackend('scheduler and worker', (kind) => {
  test.each([
    ['the default source', defaultSource],
    ['a named source', 'files'],
  ])('plan a few times more for a few windows of %s, if it has no limit', async (_, source) => {
    const parts = await openParts(kind);
    const { seriesId } = await trackSeries(parts.database, candleSeries, noonMs - 20 * hourMs, noonMs);
    await setSeriesSources(parts.database, seriesId, [{ source, symbol: 'BTCUSDT', isArchive: false }]);
    const added = new Arrivals<number | null>();
    await startTestScheduler(parts, {
      sources: sourcesOf({ requestsPerMinute: 500 }, { name: source, rangeLimits }),
      settings: { tickMs: 3_600_000, refreshMs: 1000, pollsByDefault: false, backfillShare: 0.2 },
      events: (pass) => added.push(pass.added),
    });
    await added.until(4);
    expect(added).toEqual([10, 0, 0, 0]);
  });

  test('keep the ledger for as long as the credits of a source count', async () => {
    const parts = await openParts(kind);
    const { database } = parts;
    const { seriesId } = await trackSeries(database, candleSeries, noonMs - hourMs, noonMs);
    await setSeriesSources(database, seriesId, [{ source: 'coins', symbol: 'BTCUSDT', isArchive: false }]);
    const ages = async () => {
      const kept = await database.pool.query<{ time: number }>('select time from tidemark.fetches order by time desc');
      return kept.rows.map(({ time }) => (noonMs - time) / dayMs);
    };
    for (const age of [3, 30, 40])
      await recordFetch(database.pool, {
        ...{ timeMs: noonMs - age * dayMs, dataset: 'candles', lane: 'backfill', attempt: 1 },
        ...{ verdict: 'filled', status: 200, bytes: 10, durationMs: 1, source: 'coins' },
      });
    const longLimit = { unit: 'credit', amount: 10, periodMs: 31 * dayMs } as const;
    await startTestScheduler(parts, {
      ledgerMs: dayMs,
      sources: sourcesOf({ name: 'coins', rangeLimits, requestsPerMinute: 500, longLimit }),
    });
    await waitFor('old rows to be gone', async () => !(await ages()).includes(40));
    expect(await ages()).toEqual([3, 30]);
  });

  test('plan the jobs and the schedules of a flushed queue again', async () => {
    // A pass cannot report its end when its queue is flushed meanwhile, or it fails because of the flush.
    const parts = await openParts(kind, { expect: /Missing (key|lock) for job|deadlock detected/ });
    const server = await serveCandles(() => noonMs);
    await trackSeries(parts.database, candleSeries, noonMs - 40 * hourMs, noonMs);
    await startTestScheduler(parts);
    await waitFor('a full queue', async () => (await parts.queues.requests.depth()).waiting === 20);
    await emptyQueue(parts.queueOptions);
    await waitFor('the queue to be full again', async () => (await parts.queues.requests.depth()).waiting === 20);
    await startTestWorker(parts, server.baseUrl);
    await noGapLeft(parts);
    expect(server.requests).toHaveLength(20);
  });

  const refreshing = {
    refresh: true,
    settings: { tickMs: 100, refreshMs: 1000, pollsByDefault: true, backfillShare: 0.2 },
  };

  test('poll the rates by default while refreshing', async () => {
    const parts = await openParts(kind);
    const server = await serveCandles(() => noonMs);
    await startTestWorker(parts, server.baseUrl);
    await startTestScheduler(parts, refreshing);
    await waitFor('a poll', async () => (await ledgerOf(parts.database)).length === 1);
  });

  test('poll no rates while no worker has the default source', async () => {
    const parts = await openParts(kind);
    await startTestScheduler(parts, refreshing);
    expect(await parts.queues.requests.depth()).toEqual({ waiting: 0, active: 0, delayed: 0 });
  });
});
