import { expect, test } from 'vitest';
import { dayMs, hourMs } from '../../model/intervals.ts';
import { longestRangeMs } from '../../model/request-range.ts';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { readLongestRanges } from '../../store/settings/settings.ts';
import { bitcoinHours as hours, onEachBackend } from '../queue/queue-parts.ts';
import { serveCandles } from '../workers/candle-server.ts';
import { failedRetryMs, graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { coverageOf, storedPoints, truthOf } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const noonMs = Date.UTC(2024, 2, 1, 12);
onEachBackend('a source that refuses a range', (kind) => {
  test('receives half the range from then on when it calls the range too long, also from later series', async () => {
    const clock = { nowMs };
    const limits = { ...longestRangeMs, h1: 8 * dayMs };
    const simulator = await simulate(clock, { limits });
    const pipeline = await openPipeline(kind, clock, simulator.url, { attempts: 1 });
    const range = { startMs: Date.UTC(2023, 8, 1), endMs: Date.UTC(2023, 8, 1) + 120 * dayMs };
    const seriesId = await pipeline.track(hours, range.startMs, range.endMs);
    await pipeline.backfill();
    expect(await storedPoints(pipeline.database, hours)).toEqual(truthOf(simulator, hours, range));
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
    // 30 days, 15, and 7.5.
    expect(await readLongestRanges(pipeline.database, defaultSource)).toEqual(new Map([['candles h1', 7.5 * dayMs]]));
    // At most one for each length of each of the four concurrent windows.
    expect(simulator.requests().byStatus[400]).toBeLessThanOrEqual(2 * 4);
    expect(simulator.requests().byStatus[200]).toBe(16);

    const other: SeriesKey = { ...hours, baseId: 'ethereum' };
    await pipeline.track(other, range.startMs, range.endMs);
    const before = simulator.requests().byStatus[400];
    await pipeline.backfill();
    expect(await storedPoints(pipeline.database, other)).toEqual(truthOf(simulator, other, range));
    expect(simulator.requests().byStatus).toEqual({ 200: 32, 400: before });
  });

  test('receives no more requests when it refuses a range of any length', async () => {
    const clock = { nowMs };
    const server = await serveCandles(
      () => nowMs,
      (_, response) => {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end('{"error":"this market is not for sale","timestamp":1}');
        return true;
      },
    );
    const pipeline = await openPipeline(kind, clock, server.baseUrl);
    const range = { startMs: noonMs - 400 * hourMs, endMs: noonMs - hourMs };
    await pipeline.track(hours, range.startMs, range.endMs);
    await pipeline.backfill({}, { rangeLimits: { candles: { h1: 100 * hourMs } } });
    expect(await listGaps(pipeline.database, { nowMs, graceMs })).toMatchObject(
      [0, 1, 2, 3].map((place) => ({
        startMs: range.startMs + place * 100 * hourMs,
        reason: 'failed',
        message: expect.stringContaining('this market is not for sale'),
        retryAtMs: nowMs + failedRetryMs,
      })),
    );
    expect(await readLongestRanges(pipeline.database, defaultSource)).toEqual(new Map());
    // Each window is requested a few times while the lengths go down: 100 hours twice, then 50, 25, 12, 6, 3 and 1.
    expect(server.requests.length).toBeLessThanOrEqual(4 * 8);
  });
});
