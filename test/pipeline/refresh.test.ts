import { expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { serveRows } from './serve-rows.ts';
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

  test('covers the last period of a silence that the open candle ended', async () => {
    const clock = { nowMs: noonMs + graceMs / 2 };
    const rows = [-10, -9, -8, -7, -6, 0].map((hour) => {
      const timeMs = noonMs + hour * hourMs;
      const json = `{"open":"1","high":"9","low":"1","close":"2","volume":"5","period":${timeMs}}`;
      return { timeMs, json };
    });
    const source = await serveRows(() => ({ rows, timestampMs: clock.nowMs }));
    const pipeline = await openPipeline(kind, clock, source.baseUrl);
    const startMs = noonMs - 10 * hourMs;
    const seriesId = await pipeline.track(bitcoinHours, startMs, null);
    const scheduler = await pipeline.startScheduler({ refresh: true });
    await pipeline.startWorker();
    // The last silent hour has closed, and may still change.
    await scheduler.settled();
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([{ startMs, endMs: noonMs - hourMs }]);
    clock.nowMs = noonMs + graceMs;
    await scheduler.settled();
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([{ startMs, endMs: noonMs }]);
    expect(source.requests).toHaveLength(2);
  });
});
