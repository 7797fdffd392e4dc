import { expect } from 'vitest';
import { hourMs } from '../../contract/intervals.ts';
import { waitFor } from '../parts/wait-for.ts';
import { failedRetryMs, graceMs, openPipeline } from '../pipeline/run-pipeline.ts';
import { coverageOf, storedPoints, verdictsOf } from '../pipeline/stored.ts';
import { bitcoinHours, emptyQueue, onEachBackend } from '../queue/queue-parts.ts';
import { priceAt, serveCandles } from '../workers/candle-server.ts';
import { type Chance, seededTest } from './seeded.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const noonMs = Date.UTC(2024, 2, 1, 12);
/** Windows of an hour, so that few points need many requests. */
const hourly = { candles: { h1: hourMs } };

onEachBackend('a backfill from a source that answers 429', (kind) => {
  /** Refuses two requests in a row. With one attempt each, a refusal that counted as an attempt would lose a window. */
  async function refusing(chance: Chance, header: Record<string, string>) {
    const first = chance.whole(1, 6);
    const clock = { nowMs };
    const arrivedAtMs: number[] = [];
    const server = await serveCandles(
      () => nowMs,
      (_, response, place) => {
        arrivedAtMs.push(performance.now());
        if (place !== first && place !== first + 1) return false;
        response.writeHead(429, { ...header, 'content-type': 'text/plain' }).end('You exceeded your limit');
        return true;
      },
    );
    const pipeline = await openPipeline(kind, clock, server.baseUrl, { attempts: 1 });
    const range = { startMs: noonMs - 7 * hourMs, endMs: noonMs - hourMs };
    const seriesId = await pipeline.track(bitcoinHours, range.startMs, range.endMs);
    const settings = { concurrency: 1, attempts: 1, failedRetryMs, emptyConfirmMs: 0, graceMs };

    async function expectNothingLost(): Promise<void> {
      expect(server.requests).toHaveLength(8);
      expect(await verdictsOf(pipeline.database)).toEqual([
        { verdict: 'filled', requests: 6 },
        { verdict: 'rate_limited', requests: 2 },
      ]);
      expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
      expect(await storedPoints(pipeline.database, bitcoinHours)).toMatchObject(
        [7, 6, 5, 4, 3, 2].map((back) => ({ close: priceAt(noonMs - back * hourMs) })),
      );
    }
    return { first, server, arrivedAtMs, pipeline, settings, expectNothingLost };
  }

  // These headers carry whole seconds only.
  const soonMs = nowMs + 1000;
  for (const { form, header } of [
    { form: 'Retry-After in seconds', header: { 'retry-after': '1' } },
    { form: 'Retry-After as a date', header: { 'retry-after': new Date(soonMs).toUTCString() } },
    { form: 'X-RateLimit-Reset', header: { 'x-ratelimit-reset': String(soonMs / 1000) } },
  ]) {
    seededTest(`pauses until the time in ${form}, and loses nothing`, async (chance) => {
      const { first, arrivedAtMs, pipeline, settings, expectNothingLost } = await refusing(chance, {
        ...header,
      });
      await pipeline.backfill({ settings }, { rangeLimits: hourly });
      await expectNothingLost();
      // However slow the machine is, no request came too early.
      const [refusedMs = 0, againMs = 0, answeredMs = 0] = arrivedAtMs.slice(first - 1);
      expect(againMs - refusedMs).toBeGreaterThan(950);
      expect(answeredMs - againMs).toBeGreaterThan(950);
    });
  }

  seededTest('pauses for long when no header gives a time, and loses nothing', async (chance) => {
    const { first, server, pipeline, settings, expectNothingLost } = await refusing(chance, {});
    const { requests } = pipeline.queues;
    for (const refused of [first, first + 1]) {
      const scheduler = await pipeline.startScheduler({ rangeLimits: hourly });
      const worker = await pipeline.startWorker({ settings });
      await waitFor('a long pause', async () => (await requests.pausedForMs()) > 30_000);
      await scheduler.close();
      await worker.close();
      expect(server.requests).toHaveLength(refused);
      // The pause of a minute is too long for this test. Emptying the queue removes it, and the jobs are planned again.
      await emptyQueue(pipeline.queueOptions);
    }
    await pipeline.backfill({ settings }, { rangeLimits: hourly });
    await expectNothingLost();
  });
});
