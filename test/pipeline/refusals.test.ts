import { expect, test } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { quickPauses } from '../faults/quick-pauses.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { serve } from '../sources/local-server.ts';
import { serveCandles } from '../workers/candle-server.ts';
import { failedRetryMs, graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { coverageOf, storedPoints, verdictsOf } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const noonMs = Date.UTC(2024, 2, 1, 12);
/** Windows of an hour, so that few points need many requests. */
const hourly = { candles: { h1: hourMs }, asset_history: { h1: hourMs } };

onEachBackend('a source that refuses a request', (kind) => {
  test('costs few requests for an unknown id, and blocks nothing', async () => {
    const simulator = await simulate({ nowMs });
    const pipeline = await openPipeline(kind, { nowMs }, simulator.url);
    const range = { startMs: noonMs - 200 * hourMs, endMs: noonMs - hourMs };
    const unknown: SeriesKey[] = [
      { dataset: 'asset_history', assetId: 'no-such-asset', interval: 'h1' },
      { ...bitcoinHours, baseId: 'no-such-asset' },
    ];
    for (const series of unknown) await pipeline.track(series, range.startMs, range.endMs);
    const known = { startMs: noonMs - 30 * hourMs, endMs: range.endMs };
    const knownId = await pipeline.track(bitcoinHours, known.startMs, known.endMs);
    await pipeline.backfill({}, { rangeLimits: hourly });

    const message = expect.stringContaining('not found');
    const blocked = { ...range, reason: 'blocked', message };
    expect(await listGaps(pipeline.database, { nowMs, graceMs })).toMatchObject([blocked, blocked]);
    const status = await seriesStatus(pipeline.database, { nowMs, graceMs });
    expect(status.filter(({ blocked }) => blocked !== null).map(({ points }) => points)).toEqual([0, 0]);
    expect(await coverageOf(pipeline.database, knownId)).toEqual([known]);
    // Of each one for each of the eight concurrent windows, and one more when the first was retried.
    const { byStatus } = simulator.requests();
    expect(byStatus[200]).toBe(29);
    expect(byStatus[404]).toBeGreaterThan(2);
    expect(byStatus[404]).toBeLessThanOrEqual(2 * 16);
  });

  test('is asked by one request after each pause while its firewall refuses the address, and completes', async () => {
    const clock = { nowMs };
    const awayMs = 20 * minuteMs;
    const during: number[] = [];
    let firstMs: number | null = null;
    const server = await serveCandles(
      () => clock.nowMs,
      (_, response, place) => {
        if (place <= 5) return false;
        firstMs ??= clock.nowMs;
        if (clock.nowMs >= firstMs + awayMs) return false;
        during.push((clock.nowMs - firstMs) / minuteMs);
        response.writeHead(403, { 'content-type': 'text/html' }).end('<html><h1>403</h1>Blocked</html>');
        return true;
      },
    );
    const pipeline = await openPipeline(kind, clock, server.baseUrl, { attempts: 1 });
    const range = { startMs: noonMs - 150 * hourMs, endMs: noonMs - hourMs };
    const seriesId = await pipeline.track(bitcoinHours, range.startMs, range.endMs);
    const { queues } = quickPauses(pipeline.queues, clock);
    const settings = { concurrency: 1, attempts: 1, failedRetryMs, emptyConfirmMs: 0, graceMs };
    await pipeline.startWorker({ queues, settings });
    await pipeline.backfill({ queues, settings }, { rangeLimits: hourly });
    // One of each worker, and one after a minute, after three, seven and fifteen. 142 windows waited.
    expect(during.length).toBeGreaterThan(1);
    expect(during.length).toBeLessThanOrEqual(6);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
    const [lost] = await verdictsOf(pipeline.database);
    expect(lost).toEqual({ verdict: 'address_refused', requests: during.length });
  });

  test('stores nothing when it answers in HTML, and every window gives the reason', async () => {
    const clock = { nowMs };
    const server = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><h1>Welcome</h1>');
    });
    const pipeline = await openPipeline(kind, clock, server.baseUrl, { attempts: 2 });
    const seriesId = await pipeline.track(bitcoinHours, noonMs - 4 * hourMs, noonMs - hourMs);
    await pipeline.backfill({}, { rangeLimits: hourly });
    expect(server.requests).toHaveLength(6);
    expect(await verdictsOf(pipeline.database)).toEqual([{ verdict: 'unexpected', requests: 6 }]);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([]);
    expect(await storedPoints(pipeline.database, bitcoinHours)).toEqual([]);
    const gaps = await listGaps(pipeline.database, { nowMs, graceMs });
    expect(gaps).toHaveLength(3);
    for (const gap of gaps) {
      expect(gap).toMatchObject({ reason: 'failed', retryAtMs: nowMs + minuteMs });
      expect(gap.message).toContain('HTML instead of JSON');
    }
    const [status] = await seriesStatus(pipeline.database, { nowMs, graceMs });
    expect(status).toMatchObject({ missingMs: 3 * hourMs, failedMs: 3 * hourMs, coveredMs: 0 });
  });
});
