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
    const budgets = { slow: 600, fast: 6000 };
    for (const name of ['slow', 'fast'] as const)
      await startTestWorker(parts, server.baseUrl, {
        requestsPerMinute: budgets[name],
        log: collectingLog(lines[name]),
      });
    await Promise.all([lines.slow.until(1), lines.fast.until(1)]);
    const holds = '600 requests a minute holds for all';
    expect(lines.slow[0]).toContain(`600 requests a minute here, 6000 requests a minute elsewhere; ${holds}`);
    expect(lines.fast[0]).toContain(`6000 requests a minute here, 600 requests a minute elsewhere; ${holds}`);
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
