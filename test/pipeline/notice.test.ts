import { expect, test } from 'vitest';
import { hourMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { listGaps } from '../../store/gaps.ts';
import { standingNotice } from '../../store/ledger.ts';
import { waitFor } from '../parts/wait-for.ts';
import { collectingLog, emptyQueue, onEachBackend } from '../queue/queue-parts.ts';
import { serveCandles } from '../workers/candle-server.ts';
import { graceMs, openPipeline } from './run-pipeline.ts';
import { coverageOf, verdictsOf } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const noonMs = Date.UTC(2024, 2, 1, 12);
const series: SeriesKey = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'h1',
};
const hourly = { candles: { h1: hourMs } };

onEachBackend('a source that answers with a notice in place of a list', (kind) => {
  test.each([200, 429])(
    'with status %i stops all work, says so once, and confirms nothing',
    async (status) => {
      const clock = { nowMs };
      let isRetired = true;
      const server = await serveCandles(
        () => nowMs,
        (_, response) => {
          if (!isRetired) return false;
          response.writeHead(status, { 'content-type': 'application/json' });
          response.end('{"data":{"message":"This version is being retired"},"timestamp":1}');
          return true;
        },
      );
      // A window would be lost if an attempt that met the notice counted.
      const pipeline = await openPipeline(kind, clock, server.baseUrl, { attempts: 1 });
      const { database, queues } = pipeline;
      const range = { startMs: noonMs - 40 * hourMs, endMs: noonMs - hourMs };
      const seriesId = await pipeline.track(series, range.startMs, range.endMs);
      const lines: string[] = [];
      const scheduler = await pipeline.startScheduler({ rangeLimits: hourly });
      const worker = await pipeline.startWorker({ log: collectingLog(lines) });
      await waitFor('a long pause', async () => (await queues.requests.pausedForMs()) > 30_000);
      await waitFor(
        'the attempts under way to end',
        async () => (await queues.requests.depth()).active === 0,
      );
      await scheduler.close();
      await worker.close();

      // No more than travel at once.
      expect(server.requests.length).toBeLessThanOrEqual(8);
      expect(lines.filter((line) => line.includes('notice'))).toHaveLength(1);
      expect(lines.join('')).toContain('This version is being retired');
      expect(lines).toHaveLength(1);
      expect(await standingNotice(database, nowMs)).toMatchObject({
        timeMs: nowMs,
        message: expect.stringContaining('This version is being retired'),
      });
      expect(await verdictsOf(database)).toEqual([{ verdict: 'notice', requests: server.requests.length }]);
      expect(await coverageOf(database, seriesId)).toEqual([]);
      expect(await listGaps(database, { nowMs, graceMs })).toMatchObject([{ ...range, reason: 'not_asked' }]);

      isRetired = false;
      // A minute is too long to wait for here. The pause goes with the rest of the queue, which is planned again.
      await emptyQueue(pipeline.queueOptions);
      clock.nowMs += 60_000;
      await pipeline.backfill({}, { rangeLimits: hourly });
      expect(await coverageOf(database, seriesId)).toEqual([range]);
      expect(await standingNotice(database, clock.nowMs)).toBeNull();
    },
  );
});
