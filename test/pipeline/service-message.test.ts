import { expect, test } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import { readServiceMessage } from '../../store/ledger/ledger.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { quickPauses } from '../faults/quick-pauses.ts';
import { waitFor } from '../parts/wait-for.ts';
import { collectingLog, emptyQueue, type Kind, onEachBackend, bitcoinHours as series } from '../queue/queue-parts.ts';
import { serveCandles } from '../workers/candle-server.ts';
import { graceMs, openPipeline } from './run-pipeline.ts';
import { coverageOf, verdictsOf } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const noonMs = Date.UTC(2024, 2, 1, 12);
const hourly = { candles: { h1: hourMs } };

const range = { startMs: noonMs - 40 * hourMs, endMs: noonMs - hourMs };

/** Tracks a range of a source that answers with a service message, until it `answers`. */
async function trackRetired(kind: Kind, status: number) {
  const clock = { nowMs };
  let isRetired = true;
  const { baseUrl, requests } = await serveCandles(
    () => nowMs,
    (_, response) => {
      if (!isRetired) return false;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end('{"data":{"message":"This version is being retired"},"timestamp":1}');
      return true;
    },
  );
  const answers = () => {
    isRetired = false;
  };
  // With one attempt, a window would be lost if the service message counted as an attempt.
  const pipeline = await openPipeline(kind, clock, baseUrl, { attempts: 1 });
  const seriesId = await pipeline.track(series, range.startMs, range.endMs);
  return { clock, pipeline, seriesId, server: { requests, answers } };
}

onEachBackend('a source that answers with a service message in place of a list', (kind) => {
  test.each([200])(
    'with status %i is requested again automatically, and work resumes when it has data again',
    async (status) => {
      const { clock, pipeline, server, seriesId } = await trackRetired(kind, status);
      await pipeline.startScheduler({ rangeLimits: hourly });
      const { queues } = quickPauses(pipeline.queues, clock);
      await pipeline.startWorker({ queues });
      await server.requests.until(9);
      expect(await coverageOf(pipeline.database, seriesId)).toEqual([]);
      server.answers();
      await waitFor('the whole range to be covered', async () => {
        const [covered] = await coverageOf(pipeline.database, seriesId);
        return covered?.startMs === range.startMs && covered.endMs === range.endMs;
      });
    },
  );

  test.each([200, 429])('with status %i stops all work, logs it once, and confirms nothing', async (status) => {
    const { pipeline, clock, server, seriesId } = await trackRetired(kind, status);
    const { database, queues } = pipeline;
    const lines: string[] = [];
    const scheduler = await pipeline.startScheduler({ rangeLimits: hourly });
    const worker = await pipeline.startWorker({ log: collectingLog(lines) });
    await waitFor('a queue paused for long', async () => (await queues.requests.pausedForMs()) > 30_000);
    await waitFor('the running attempts to end', async () => (await queues.requests.depth()).active === 0);
    await scheduler.close();
    await worker.close();

    // At most the requests that are in flight at once.
    expect(server.requests.length).toBeLessThanOrEqual(8);
    expect(lines.filter((line) => line.includes('a service message'))).toHaveLength(1);
    expect(lines.join('')).toContain('This version is being retired');
    expect(lines).toHaveLength(1);
    expect(await readServiceMessage(database, nowMs)).toMatchObject({
      timeMs: nowMs,
      message: expect.stringContaining('This version is being retired'),
    });
    expect(await verdictsOf(database)).toEqual([{ verdict: 'notice', requests: server.requests.length }]);
    expect(await coverageOf(database, seriesId)).toEqual([]);
    expect(await listGaps(database, { nowMs, graceMs })).toMatchObject([{ ...range, reason: 'not_asked' }]);

    server.answers();
    // The pause of a minute is too long for this test. Emptying the queue removes it, and the jobs are planned again.
    await emptyQueue(pipeline.queueOptions);
    clock.nowMs += 60_000;
    await pipeline.backfill({}, { rangeLimits: hourly });
    expect(await coverageOf(database, seriesId)).toEqual([range]);
    expect(await readServiceMessage(database, clock.nowMs)).toBeNull();
  });
});
