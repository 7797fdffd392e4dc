import { expect, test } from 'vitest';
import { limiterFor } from '../../planning/budget.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { collectingLog, onEachBackend } from '../queue/queue-parts.ts';
import { serveCandles } from './candle-server.ts';
import { noonMs, openParts, startTestWorker, trackHours } from './worker-parts.ts';

onEachBackend('the budget', (kind) => {
  test('is the lowest of all workers on one queue, and every worker logs it', async () => {
    const parts = await openParts(kind);
    const starts = new Arrivals<number>();
    const server = await serveCandles(
      () => noonMs,
      () => {
        starts.push(performance.now());
        return false;
      },
    );
    const lines = { slow: new Arrivals<string>(), fast: new Arrivals<string>() };
    await startTestWorker(parts, server.baseUrl, {
      requestsPerMinute: 600,
      log: collectingLog(lines.slow),
    });
    await startTestWorker(parts, server.baseUrl, {
      requestsPerMinute: 6000,
      log: collectingLog(lines.fast),
    });
    await Promise.all([lines.slow.until(1), lines.fast.until(1)]);
    expect(lines.slow.join('')).toContain(
      '600 requests a minute here, 6000 requests a minute elsewhere; 600 requests a minute holds for all',
    );
    expect(lines.fast.join('')).toContain(
      '6000 requests a minute here, 600 requests a minute elsewhere; 600 requests a minute holds for all',
    );
    const windows = await trackHours(parts, 12);
    const begun = performance.now();
    await parts.queues.requests.addWindows(windows);
    await starts.until(windows.length);
    expect(starts).toHaveLength(12);
    const spanMs = (starts.at(-1) ?? 0) - begun;
    const { max, durationMs } = limiterFor(600) ?? { max: 1, durationMs: 0 };
    expect(spanMs).toBeGreaterThanOrEqual(Math.floor(11 / max) * durationMs);
    expect(lines.slow).toHaveLength(1);
    expect(lines.fast).toHaveLength(1);
  });
});
