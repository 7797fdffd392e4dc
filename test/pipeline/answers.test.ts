import { expect, test } from 'vitest';
import { dayMs, hourMs } from '../../contract/intervals.ts';
import type { Candle } from '../../contract/resources.ts';
import type { CandleSeries } from '../../contract/series.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { readQuarantined } from '../../store/ledger/quarantine.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/series/status.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { serve } from '../source/local-server.ts';
import { graceMs, openPipeline } from './run-pipeline.ts';
import { serveRows } from './serve-rows.ts';
import { coverageOf, storedPoints } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const { truth } = createSimulator({ seed: 'answers', clock: { now: () => nowMs } });
const series: CandleSeries = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'h1',
};
const range = { startMs: Date.UTC(2024, 0, 1), endMs: Date.UTC(2024, 0, 6) };
const daily = { rangeLimits: { candles: { h1: dayMs } } };

onEachBackend('an answer', (kind) => {
  /** Backfills from a source that answers each window with `answerTo(window)`. */
  async function filledFrom(answerTo: (window: { startMs: number; endMs: number }) => Candle[]) {
    const server = await serve((request, response) => {
      const url = new URL(request.url ?? '', 'http://localhost');
      const startMs = Number(url.searchParams.get('start'));
      const endMs = Number(url.searchParams.get('end'));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: answerTo({ startMs, endMs }), timestamp: nowMs }));
    });
    const pipeline = await openPipeline(kind, { nowMs }, server.baseUrl);
    const seriesId = await pipeline.track(series, range.startMs, range.endMs);
    await pipeline.backfill({}, daily);
    expect(await storedPoints(pipeline.database, series)).toEqual(truth.candles(series, range));
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([range]);
    expect(server.requests).toHaveLength(5);
  }

  // The pipeline drops points outside a window: each belongs to another window, which is requested separately.
  test('loses no point when it also contains points outside its window', () =>
    filledFrom(({ startMs, endMs }) =>
      truth.candles(series, { startMs: startMs - hourMs, endMs: endMs + hourMs }),
    ));

  test('stores each point once when it is unordered, has every point twice and has points far away', () =>
    filledFrom((window) => {
      const rows = truth.candles(series, window);
      const far = truth.candles(series, { startMs: range.endMs + dayMs, endMs: range.endMs + 2 * dayMs });
      return [...rows.slice(12).reverse(), ...far, ...rows, ...rows.slice(0, 3)];
    }));

  const noonMs = Date.UTC(2024, 0, 2, 12);
  const good = { open: '2.0', high: '3.0', low: '1.0', close: '2.5', volume: '7' };
  // test/source/impossible-candle.test.ts and rows.test.ts have every reason.
  test('quarantines an impossible row unchanged, and stores the rest of its window', async () => {
    const bad = { ...good, high: '0.5' };
    const reason = 'high is below low';
    const rowAt = (timeMs: number, values: object) => ({
      timeMs,
      json: JSON.stringify({ ...values, period: timeMs }),
    });
    const rows = Array.from({ length: 24 }, (_, hour) => {
      const timeMs = Date.UTC(2024, 0, 2) + hour * hourMs;
      return rowAt(timeMs, timeMs === noonMs ? bad : good);
    });
    const server = await serveRows(() => ({ rows, timestampMs: nowMs }));
    const pipeline = await openPipeline(kind, { nowMs }, server.baseUrl);
    const { database } = pipeline;
    const day = { startMs: Date.UTC(2024, 0, 2), endMs: Date.UTC(2024, 0, 3) };
    const seriesId = await pipeline.track(series, day.startMs, day.endMs);
    await pipeline.backfill({}, daily);
    const stored = rows.filter(({ timeMs }) => timeMs !== noonMs).map(({ json }) => JSON.parse(json));
    expect(await storedPoints(database, series)).toEqual(stored);
    const kept = await database.pool.query('select raw, reason, time from tidemark.quarantine');
    expect(kept.rows).toEqual([
      { raw: rows.find(({ timeMs }) => timeMs === noonMs)?.json, reason, time: noonMs },
    ]);
    // The period was answered, so it is no gap. It has no point, so the report names it.
    expect(await coverageOf(database, seriesId)).toEqual([day]);
    expect(await listGaps(database, { nowMs, graceMs })).toEqual([]);
    expect(await seriesStatus(database, { nowMs, graceMs })).toMatchObject([{ quarantined: 1, points: 23 }]);
    expect(await readQuarantined(database)).toEqual([{ seriesId, rows: 1, reason }]);
    expect(server.requests).toHaveLength(1);
  });

  test('quarantines a period off its grid, and requests its missing period no more', async () => {
    const rows = [0, 1, 2, 3].map((hour) => {
      const timeMs = Date.UTC(2024, 0, 2, hour, hour === 2 ? 7 : 0);
      return { timeMs, json: JSON.stringify({ ...good, period: timeMs }) };
    });
    const server = await serveRows(() => ({ rows, timestampMs: nowMs }));
    const pipeline = await openPipeline(kind, { nowMs }, server.baseUrl);
    const hours = { startMs: Date.UTC(2024, 0, 2), endMs: Date.UTC(2024, 0, 2, 4) };
    const seriesId = await pipeline.track(series, hours.startMs, hours.endMs);
    await pipeline.backfill({}, daily);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([hours]);
    expect(await storedPoints(pipeline.database, series)).toHaveLength(3);
    const reason = 'does not start a period of h1';
    expect(await readQuarantined(pipeline.database)).toEqual([{ seriesId, rows: 1, reason }]);
  });
});
