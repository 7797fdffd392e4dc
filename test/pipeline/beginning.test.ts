import { expect, test } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { bornIn2019Ms } from '../../simulator/catalogue.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { emptyConfirmMs, graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { coverageOf, storedPoints, truthOf } from './stored.ts';

const born: SeriesKey = { ...bitcoinHours, baseId: 'dogecoin', interval: 'm1' };
const years = { startMs: Date.UTC(2015, 0, 1), endMs: bornIn2019Ms };
/** The first twelve days of the series, one window each. */
const range = { startMs: years.startMs, endMs: bornIn2019Ms + 12 * dayMs };
const windows = 12;
const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);

onEachBackend('the years before a market begins', (kind) => {
  test('cost a few requests, and are covered after a second probe agrees', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const { database } = pipeline;
    const seriesId = await pipeline.track(born, range.startMs, range.endMs);
    await pipeline.backfill();
    // The series itself is stored at once. The years before it are reported as waiting for a second answer.
    expect(await storedPoints(database, born)).toEqual(truthOf(simulator, born, range));
    expect(await coverageOf(database, seriesId)).toEqual([{ startMs: years.endMs, endMs: range.endMs }]);
    const gaps = await listGaps(database, { nowMs, graceMs });
    expect(new Set(gaps.map((gap) => gap.reason))).toEqual(new Set(['awaits_second_answer']));
    expect(gaps.map((gap) => gap.message)).toContain('the source has no daily point before 2019-06-01');

    clock.nowMs += emptyConfirmMs;
    await pipeline.backfill();
    expect(await coverageOf(database, seriesId)).toEqual([range]);
    expect(await listGaps(database, { nowMs: clock.nowMs, graceMs })).toEqual([]);
    const [status] = await seriesStatus(database, { nowMs: clock.nowMs, graceMs });
    expect(status).toMatchObject({
      missingMs: 0,
      confirmedEmptyMs: years.endMs - years.startMs,
      earliestMs: bornIn2019Ms,
    });
    // The day before the beginning was requested in minutes.
    expect(status?.beforeBeginningMs).toBe(years.endMs - years.startMs - dayMs);
    expect(simulator.requests().total).toBeLessThanOrEqual(windows + 20);

    clock.nowMs += 2 * emptyConfirmMs;
    const before = simulator.requests().total;
    await pipeline.backfill();
    expect(simulator.requests().total).toBe(before);
  });

  test('are not confirmed empty by one false answer', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock, { faults: { emptyRate: 1 } });
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const seriesId = await pipeline.track(born, range.startMs, range.endMs);
    await pipeline.backfill();
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([]);
    simulator.setFaults({});
    for (let hours = 0; hours < 3; hours += 1) {
      clock.nowMs += emptyConfirmMs;
      await pipeline.backfill();
    }
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
    expect(await storedPoints(pipeline.database, born)).toEqual(truthOf(simulator, born, range));
    expect(await seriesStatus(pipeline.database, { nowMs: clock.nowMs, graceMs })).toMatchObject([
      { missingMs: 0, confirmedEmptyMs: years.endMs - years.startMs },
    ]);
  });

  test('are requested again when they contain points that the daily candles omitted', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock, { faults: { maxRows: 5, capKeeps: 'newest' } });
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const hours: SeriesKey = { ...born, interval: 'h1' };
    const seriesId = await pipeline.track(hours, range.startMs, range.endMs);
    // A cap that omits the oldest days makes the series appear to begin later.
    const rangeLimits = { candles: { h1: dayMs } };
    for (let times = 0; times < 4; times += 1) {
      await pipeline.backfill({}, { rangeLimits });
      clock.nowMs += emptyConfirmMs;
    }
    expect(await storedPoints(pipeline.database, hours)).toEqual(truthOf(simulator, hours, range));
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
  });
});
