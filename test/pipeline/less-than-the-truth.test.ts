import { expect, test } from 'vitest';
import { dayMs, hourMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/series/status.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { emptyConfirmMs, graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { coverageOf, storedPoints, truthOf } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
/** Few points in a request, so that a backfill makes many requests that can go wrong. */
const sixHourly = { candles: { h1: 6 * hourMs } };
const range = { startMs: Date.UTC(2024, 1, 1), endMs: Date.UTC(2024, 1, 16) };

onEachBackend('an empty answer', (kind) => {
  test('is not confirmed when it is falsely empty once', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock, { faults: { emptyRate: 0.3 } });
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const seriesId = await pipeline.track(bitcoinHours, range.startMs, range.endMs);
    await pipeline.backfill({}, { rangeLimits: sixHourly });
    const empty = simulator.requests().byFault.empty ?? 0;
    expect(empty).toBeGreaterThan(5);
    const gaps = await listGaps(pipeline.database, { nowMs, graceMs });
    expect(new Set(gaps.map((gap) => gap.reason))).toEqual(new Set(['awaits_second_answer']));
    const [status] = await seriesStatus(pipeline.database, { nowMs, graceMs });
    expect(status).toMatchObject({ missingMs: empty * 6 * hourMs, awaitingMs: empty * 6 * hourMs });

    simulator.setFaults({});
    clock.nowMs += emptyConfirmMs;
    await pipeline.backfill({}, { rangeLimits: sixHourly });
    expect(await storedPoints(pipeline.database, bitcoinHours)).toEqual(
      truthOf(simulator, bitcoinHours, range),
    );
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
    expect(await seriesStatus(pipeline.database, { nowMs: clock.nowMs, graceMs })).toMatchObject([
      { missingMs: 0, confirmedEmptyMs: 0 },
    ]);
  });

  test('is confirmed by a second answer when it is truly empty, and then requested no more', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    // The market had no trades in the first week of March.
    const series: SeriesKey = { ...bitcoinHours, exchange: 'kraken', baseId: 'litecoin', quoteId: 'euro' };
    const suspended = { startMs: Date.UTC(2021, 2, 1), endMs: Date.UTC(2021, 2, 8) };
    const around = { startMs: suspended.startMs - 2 * dayMs, endMs: suspended.endMs + dayMs };
    const seriesId = await pipeline.track(series, around.startMs, around.endMs);
    const daily = { rangeLimits: { candles: { h1: dayMs } } };
    await pipeline.backfill({}, daily);
    expect(simulator.requests().total).toBe(10);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([
      { startMs: around.startMs, endMs: suspended.startMs },
      { startMs: suspended.endMs, endMs: around.endMs },
    ]);
    clock.nowMs += emptyConfirmMs;
    await pipeline.backfill({}, daily);
    expect(simulator.requests().total).toBe(17);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([around]);
    expect(await seriesStatus(pipeline.database, { nowMs: clock.nowMs, graceMs })).toMatchObject([
      { missingMs: 0, confirmedEmptyMs: 7 * dayMs },
    ]);
    expect(await storedPoints(pipeline.database, series)).toEqual(truthOf(simulator, series, around));
    clock.nowMs += emptyConfirmMs;
    await pipeline.backfill({}, daily);
    expect(simulator.requests().total).toBe(17);
  });
});
