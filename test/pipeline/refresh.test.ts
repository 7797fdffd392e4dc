import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { closedUpTo } from '../../planning/periods.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { coverageOf, revisionsOf, storedPoints, truthOf } from './stored.ts';

const noonMs = Date.UTC(2024, 2, 1, 12);

onEachBackend('refreshing', (kind) => {
  test('stores the open candle, replaces it while it changes, and covers it once it has closed', async () => {
    const clock = { nowMs: noonMs + 20 * minuteMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const startMs = noonMs - 4 * hourMs;
    const seriesId = await pipeline.track(bitcoinHours, startMs, null);
    const scheduler = await pipeline.startScheduler({ refresh: true });
    await pipeline.startWorker();
    const opens = new Set<string>();
    // At the third time the candle has closed by the clock. Within the grace period it may still change.
    for (const [afterMs, points, closedMs] of [
      [20 * minuteMs, 5, noonMs],
      [40 * minuteMs, 5, noonMs],
      [hourMs + graceMs / 2, 6, noonMs],
      [hourMs + graceMs, 6, noonMs + hourMs],
    ] as const) {
      clock.nowMs = noonMs + afterMs;
      await scheduler.settled();
      const truth = truthOf(simulator, bitcoinHours, { startMs, endMs: clock.nowMs });
      expect(truth).toHaveLength(points);
      opens.add(JSON.stringify(truth[4]));
      expect(await storedPoints(pipeline.database, bitcoinHours)).toEqual(truth);
      expect(await coverageOf(pipeline.database, seriesId)).toEqual([{ startMs, endMs: closedMs }]);
    }

    // It changed while it was open.
    expect(opens.size).toBe(3);
    // One request each time, and no closed row was rewritten.
    expect(simulator.requests().total).toBe(4);
    // A change of an open candle is no revision.
    expect(await revisionsOf(pipeline.database, seriesId)).toEqual([]);
  });

  test('keeps open-ended series of every kind up to date, each minute and after days of downtime', async () => {
    const clock = { nowMs: noonMs + 10_000 };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const startMs = noonMs - 2 * hourMs;
    const every: readonly SeriesKey[] = [
      { ...bitcoinHours, interval: 'm1' },
      { ...bitcoinHours, exchange: 'bitso', baseId: 'xrp', quoteId: 'mexican-peso', interval: 'm1' },
      bitcoinHours,
      { dataset: 'asset_history', assetId: 'ethereum', interval: 'm1' },
      { dataset: 'asset_history', assetId: 'ethereum', interval: 'm5' },
    ];
    const tracked = new Map<number, SeriesKey>();
    for (const series of every) tracked.set(await pipeline.track(series, startMs, null), series);
    let scheduler = await pipeline.startScheduler({ refresh: true });
    const worker = await pipeline.startWorker();

    async function expectKeptUp(): Promise<void> {
      await scheduler.settled();
      for (const [seriesId, series] of tracked) {
        const endMs = closedUpTo(series, clock.nowMs, graceMs);
        expect(await coverageOf(pipeline.database, seriesId)).toEqual([{ startMs, endMs }]);
        expect(await storedPoints(pipeline.database, series)).toEqual(
          truthOf(simulator, series, { startMs, endMs: clock.nowMs + 1 }),
        );
      }
      expect(await listGaps(pipeline.database, { nowMs: clock.nowMs, graceMs })).toEqual([]);
    }

    await expectKeptUp();
    for (const aheadMs of [minuteMs, minuteMs, 2 * minuteMs, hourMs]) {
      clock.nowMs += aheadMs;
      await expectKeptUp();
    }
    await scheduler.close();
    clock.nowMs += 3 * dayMs;
    scheduler = await pipeline.startScheduler({ refresh: true });
    await expectKeptUp();
    await worker.close();
  });
});
