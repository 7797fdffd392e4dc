import { expect, test } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/status/status.ts';
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
    expect(await storedPoints(pipeline.database, bitcoinHours)).toEqual(truthOf(simulator, bitcoinHours, range));
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
    expect(await seriesStatus(pipeline.database, { nowMs: clock.nowMs, graceMs })).toMatchObject([
      { missingMs: 0, confirmedEmptyMs: 0 },
    ]);
  });
});
