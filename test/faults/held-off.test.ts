import { expect } from 'vitest';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import { failedRetryMs, graceMs, openPipeline } from '../pipeline/run-pipeline.ts';
import { coverageOf, storedPoints, verdictsOf } from '../pipeline/stored.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { priceAt, serveCandles } from '../workers/candle-server.ts';
import { quickPauses } from './quick-pauses.ts';
import { seededTest } from './seeded.ts';

const noonMs = Date.UTC(2024, 2, 1, 12);
/** Windows of an hour, so that few points need many requests. */
const hourly = { candles: { h1: hourMs } };

onEachBackend('a backfill from a source that answers 429', (kind) => {
  // Two refusals in a row. With one attempt each, a refusal that counted as an attempt would lose a window.
  seededTest('pauses for long when no header gives a time, and loses nothing', async (chance) => {
    const first = chance.whole(1, 6);
    const clock = { nowMs: noonMs + 30_000 };
    const server = await serveCandles(
      () => clock.nowMs,
      (_, response, place) => {
        if (place !== first && place !== first + 1) return false;
        response.writeHead(429, { 'content-type': 'text/plain' }).end('You exceeded your limit');
        return true;
      },
    );
    const pipeline = await openPipeline(kind, clock, server.baseUrl, { attempts: 1 });
    const range = { startMs: noonMs - 7 * hourMs, endMs: noonMs - hourMs };
    const seriesId = await pipeline.track(bitcoinHours, range.startMs, range.endMs);
    const settings = { concurrency: 1, attempts: 1, failedRetryMs, emptyConfirmMs: 0, graceMs };
    const { queues, pausesMs } = quickPauses(pipeline.queues, clock);
    await pipeline.backfill({ settings, queues }, { rangeLimits: hourly });

    // A minute, and then two, of which the worker begins one before it has read that it is the second.
    expect(pausesMs.reduce((sum, ms) => sum + ms, 0)).toBe(3 * minuteMs);
    expect(server.requests).toHaveLength(8);
    expect(await verdictsOf(pipeline.database)).toEqual([
      { verdict: 'filled', requests: 6 },
      { verdict: 'rate_limited', requests: 2 },
    ]);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
    expect(await storedPoints(pipeline.database, bitcoinHours)).toMatchObject(
      [7, 6, 5, 4, 3, 2].map((back) => ({ close: priceAt(noonMs - back * hourMs) })),
    );
  });
});
