import { expect, test } from 'vitest';
import { hourMs } from '../../model/intervals.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { failedRetryMs, graceMs, openPipeline } from './run-pipeline.ts';
import { serveRows } from './serve-rows.ts';
import { coverageOf } from './stored.ts';

const noonMs = Date.UTC(2024, 2, 1, 12);
const row = (hour: number, close: string) => {
  const timeMs = noonMs + hour * hourMs;
  const json = `{"open":"1","high":"9","low":"1","close":"${close}","volume":"5","period":${timeMs}}`;
  return { timeMs, json };
};
const hours = (from: number, to: number) => ({ startMs: noonMs + from * hourMs, endMs: noonMs + to * hourMs });

onEachBackend('a period with rows that differ', (kind) => {
  test.each([
    ['is a gap between covered periods', [-4], [hours(-10, -4), hours(-3, -1)], 2],
    ['is the whole answer', [-10, -9, -8, -7, -6, -5, -4, -3, -2], [], 2],
  ])('%s: asked for once more at once, then later', async (_, disputed, covered, requests) => {
    const clock = { nowMs: noonMs + 90_000 };
    let isMended = false;
    const source = await serveRows(() => ({
      rows: [-10, -9, -8, -7, -6, -5, -4, -3, -2].flatMap((hour) =>
        !isMended && disputed.includes(hour) ? [row(hour, '2'), row(hour, '3')] : [row(hour, '2.5')],
      ),
      timestampMs: clock.nowMs,
    }));
    const pipeline = await openPipeline(kind, clock, source.baseUrl);
    const seriesId = await pipeline.track(bitcoinHours, noonMs - 10 * hourMs, noonMs - hourMs);
    await pipeline.backfill();
    expect(await coverageOf(pipeline.database, seriesId)).toEqual(covered);
    expect(source.requests).toHaveLength(requests);
    const gaps = await listGaps(pipeline.database, { nowMs: clock.nowMs, graceMs });
    const message = 'the answer has rows of this period that differ';
    expect(gaps).toMatchObject([{ reason: 'failed', message, retryAtMs: clock.nowMs + failedRetryMs }]);
    const kept = await pipeline.database.pool.query('select from tidemark.quarantine');
    expect(kept.rowCount).toBe(2 * disputed.length);
    isMended = true;
    clock.nowMs += failedRetryMs;
    await pipeline.backfill();
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([hours(-10, -1)]);
  });
});
