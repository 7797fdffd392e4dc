import { expect, test } from 'vitest';
import { defaultSource } from '../../model/sources.ts';
import { limiterFor } from '../../planning/budget.ts';
import { writeLoweredBudget } from '../../store/settings/source-orders.ts';
import { Arrivals } from '../parts/arrivals.ts';
import { createTestClock } from '../parts/test-clock.ts';
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

  test("is a user's lower figure while one is set, also of a running worker, and never a higher one", async () => {
    const parts = await openParts(kind);
    const set: unknown[] = [];
    const queues = {
      ...parts.queues,
      startRequestWorker(...given: Parameters<typeof parts.queues.startRequestWorker>) {
        const worker = parts.queues.startRequestWorker(...given);
        return { ...worker, setLimiter: (limiter: ReturnType<typeof limiterFor>) => void set.push(limiter) };
      },
    };
    const order = (perMinute: number) =>
      writeLoweredBudget(parts.database, defaultSource, { perMinute, sinceMs: noonMs, by: null });
    await order(30);
    const clock = createTestClock(noonMs);
    const server = await serveCandles(() => noonMs);
    await startTestWorker({ ...parts, queues }, server.baseUrl, { requestsPerMinute: 600, clock });
    const inForce = async (perMinute: number) => {
      await expect
        .poll(() => {
          clock.advance(3000);
          return set.at(-1);
        })
        .toEqual(limiterFor(perMinute));
    };
    await inForce(30);
    await order(60);
    await inForce(60);
    await order(6000);
    await inForce(600);
    await order(12);
    await inForce(12);
    expect(await writeLoweredBudget(parts.database, defaultSource, null)).toBe(true);
    await inForce(600);
    expect(await writeLoweredBudget(parts.database, defaultSource, null)).toBe(false);
  });
});
