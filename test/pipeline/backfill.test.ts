import { expect, inject, test } from 'vitest';
import { minuteMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import { longestRange, requestsFor } from '../../model/request-range.ts';
import type { SeriesKey } from '../../model/series.ts';
import { listStatus, trackList } from '../../store/lists/lists.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { waitFor } from '../parts/wait-for.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { byId, coverageOf, storedPoints, storedRates, truthOf } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);

// No outage of the simulator lies at an edge of these windows: an empty range at the edge of an answer is requested
// again. A thin market has one at most edges.
interface Dataset {
  readonly series: SeriesKey;
  readonly range: Range;
  readonly requests: number;
  readonly atMost?: number;
  readonly maxEmptyMs?: number;
}
const datasets: readonly [Dataset, ...Dataset[]] = [
  {
    series: candles('binance', 'bitcoin', 'tether', 'm1'),
    range: { startMs: Date.UTC(2024, 1, 10), endMs: Date.UTC(2024, 1, 13) },
    requests: 3,
  },
  {
    series: candles('bitso', 'xrp', 'mexican-peso', 'm1'),
    range: { startMs: Date.UTC(2023, 11, 30, 7, 13), endMs: Date.UTC(2024, 0, 2) },
    requests: 3,
    atMost: 3 * 3,
    maxEmptyMs: 30 * minuteMs,
  },
  {
    series: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' },
    range: { startMs: Date.UTC(2013, 2, 1), endMs: Date.UTC(2024, 2, 1) },
    requests: 1,
  },
  {
    series: { dataset: 'asset_history', assetId: 'golem-(glm)', interval: 'm5' },
    range: { startMs: Date.UTC(2024, 0, 10), endMs: Date.UTC(2024, 0, 23, 23, 55) },
    requests: 3,
  },
];

function candles(exchange: string, baseId: string, quoteId: string, interval: 'm1'): SeriesKey {
  return { dataset: 'candles', exchange, baseId, quoteId, interval };
}

function timeOf(row: object | undefined): unknown {
  return row === undefined ? null : 'period' in row ? row.period : 'time' in row ? row.time : null;
}

onEachBackend('a backfill', (kind) => {
  // Each backend of the queue on another kind of database.
  const on = kind === 'postgres' && inject('absent').plainPostgres === '' ? 'plain' : 'main';

  test('stores every point of every dataset, with few requests, and then requests only what is added', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url, { on });
    const { database } = pipeline;
    const ids: number[] = [];
    for (const { series, range, requests } of datasets) {
      ids.push(await pipeline.track(series, range.startMs, range.endMs));
      expect(requestsFor(range, longestRange(series))).toBe(requests);
    }
    await pipeline.backfill();
    expect(await listGaps(database, { nowMs, graceMs })).toEqual([]);
    for (const [place, { series, range, maxEmptyMs = 0 }] of datasets.entries()) {
      const seriesId = ids[place] ?? 0;
      const truth = truthOf(simulator, series, range);
      expect(truth.length).toBeGreaterThan(100);
      expect(await storedPoints(database, series)).toEqual(truth);
      expect(await coverageOf(database, seriesId)).toEqual([range]);
      const lengthMs = range.endMs - range.startMs;
      expect(await seriesStatus(database, { nowMs, graceMs, seriesIds: [seriesId] })).toMatchObject([
        {
          ...{ seriesId, series, wantedMs: lengthMs, coveredMs: lengthMs, missingMs: 0, gaps: 0 },
          ...{ awaitingMs: 0, failedMs: 0, beyondDepthMs: 0, points: truth.length, blocked: null },
          // An empty range of a thin market at an edge may need a request of its own.
          confirmedEmptyMs: expect.toSatisfy((ms: number) => ms <= maxEmptyMs),
          earliestMs: timeOf(truth[0]),
          newestMs: timeOf(truth.at(-1)),
        },
      ]);
    }
    const { total, byStatus } = simulator.requests();
    expect(byStatus).toEqual({ 200: total });
    expect(total).toBeGreaterThanOrEqual(datasets.reduce((sum, { requests }) => sum + requests, 0));
    expect(total).toBeLessThanOrEqual(datasets.reduce((sum, { requests, atMost = requests }) => sum + atMost, 0));

    const [{ series, range }] = datasets;
    const earlierMs = range.startMs - longestRange(series);
    await pipeline.track(series, earlierMs, range.endMs);
    await pipeline.backfill();
    expect(simulator.requests().total).toBe(total + 1);
    expect(await coverageOf(database, ids[0] ?? 0)).toEqual([{ startMs: earlierMs, endMs: range.endMs }]);
  });

  test('stores each snapshot of the rates once, and as many points as without polls', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const { database } = pipeline;
    const [{ series, range }] = datasets;
    await pipeline.track(series, range.startMs, range.endMs);
    await trackList(database, { dataset: 'rates', asset: null }, 100);
    const settings = { tickMs: 100, refreshMs: 10_000, pollsByDefault: false, backfillShare: 0.2 };
    const planning = await pipeline.startScheduler({ refresh: true, settings });
    const worker = await pipeline.startWorker();
    const polls = () => simulator.requests().byRoute['/v2/rates'] ?? 0;
    const truth: Record<number, object[]> = {};
    // The first poll may have come while the worker started.
    let before = 0;
    for (const minute of [0, 1]) {
      clock.nowMs = nowMs + minute * minuteMs;
      truth[clock.nowMs] = byId(simulator.truth.rates());
      await waitFor('a poll of the minute', () => polls() > before);
      before = polls();
    }
    await planning.settled();
    await planning.close();
    await worker.close();

    const [first = [], second] = Object.values(truth);
    expect(first).not.toEqual(second);
    expect(first.length).toBeGreaterThan(30);
    for (const [timeMs, rates] of Object.entries(truth))
      expect(await storedRates(database, Number(timeMs))).toEqual(rates);
    const stored = await database.pool.query<{ rates: number }>('select count(*) as rates from rates');
    expect(stored.rows).toEqual([{ rates: 2 * first.length }]);
    const [status] = await listStatus(database, clock.nowMs);
    expect(status).toMatchObject({ rows: first.length, newestMs: clock.nowMs });
    expect(await storedPoints(database, series)).toEqual(truthOf(simulator, series, range));
  });
});
