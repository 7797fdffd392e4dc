import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import { longestRange, requestsFor } from '../../planning/windows.ts';
import { planTick } from '../../scheduler/plan-tick.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { ratesStatus, seriesStatus } from '../../store/series/status.ts';
import { describeNeeding } from '../parts/describe-needing.ts';
import { waitFor } from '../parts/wait-for.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { graceMs, openPipeline, type Pipeline, simulate } from './run-pipeline.ts';
import { byId, coverageOf, storedPoints, storedRates, truthOf } from './stored.ts';

const nowMs = Date.UTC(2024, 2, 1, 12, 0, 30);

// No outage of the simulator lies at an edge of these windows: an empty range at the edge of an answer is requested
// again. A thin market has one at most edges.
const datasets: readonly {
  title: string;
  series: SeriesKey;
  range: Range;
  requests: number;
  atMost?: number;
  maxEmptyMs?: number;
}[] = [
  {
    title: 'minute candles',
    series: candles('binance', 'bitcoin', 'tether', 'm1'),
    range: { startMs: Date.UTC(2024, 1, 10), endMs: Date.UTC(2024, 1, 13) },
    requests: 3,
  },
  {
    title: 'minute candles of a thin market',
    series: candles('bitso', 'xrp', 'mexican-peso', 'm1'),
    range: { startMs: Date.UTC(2023, 11, 30, 7, 13), endMs: Date.UTC(2024, 0, 2) },
    requests: 3,
    atMost: 3 * 3,
    maxEmptyMs: 30 * minuteMs,
  },
  {
    title: 'hourly candles',
    series: candles('coinbase', 'ethereum', 'united-states-dollar', 'h1'),
    range: { startMs: Date.UTC(2023, 9, 1, 5), endMs: Date.UTC(2024, 0, 1) },
    requests: 4,
  },
  {
    title: 'daily history over eleven years',
    series: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' },
    range: { startMs: Date.UTC(2013, 2, 1), endMs: Date.UTC(2024, 2, 1) },
    requests: 1,
  },
  {
    title: 'five-minute history of an asset whose id needs encoding',
    series: { dataset: 'asset_history', assetId: 'golem-(glm)', interval: 'm5' },
    range: { startMs: Date.UTC(2024, 0, 10), endMs: Date.UTC(2024, 0, 23, 23, 55) },
    requests: 3,
  },
];

function candles(exchange: string, baseId: string, quoteId: string, interval: 'm1' | 'h1'): SeriesKey {
  return { dataset: 'candles', exchange, baseId, quoteId, interval };
}

/** Status, gaps and the points themselves show that exactly this range is stored, digit by digit. */
async function expectComplete(
  pipeline: Pipeline,
  simulator: RunningSimulator,
  seriesId: number,
  series: SeriesKey,
  range: Range,
  maxEmptyMs = 0,
): Promise<void> {
  const { database } = pipeline;
  const stored = await storedPoints(database, series);
  const truth = truthOf(simulator, series, range);
  expect(truth.length).toBeGreaterThan(100);
  expect(stored).toEqual(truth);
  expect(await coverageOf(database, seriesId)).toEqual([range]);
  expect(await listGaps(database, { nowMs, graceMs, seriesIds: [seriesId] })).toEqual([]);
  const lengthMs = range.endMs - range.startMs;
  expect(await seriesStatus(database, { nowMs, graceMs, seriesIds: [seriesId] })).toMatchObject([
    {
      seriesId,
      series,
      wantedMs: lengthMs,
      coveredMs: lengthMs,
      // An empty range of a thin market at an edge may need a request of its own.
      confirmedEmptyMs: expect.toSatisfy((ms: number) => ms <= maxEmptyMs),
      missingMs: 0,
      gaps: 0,
      awaitingMs: 0,
      failedMs: 0,
      beyondDepthMs: 0,
      points: truth.length,
      blocked: null,
      earliestMs: timeOf(truth[0]),
      newestMs: timeOf(truth.at(-1)),
    },
  ]);
}

function timeOf(row: object | undefined): unknown {
  return row === undefined ? null : 'period' in row ? row.period : 'time' in row ? row.time : null;
}

async function passOf(pipeline: Pipeline): Promise<number> {
  const { database, queues } = pipeline;
  const pass = await planTick(
    {
      database,
      requests: queues.requests,
      requestsPerMinute: 0,
      backfillShare: 0.2,
      graceMs,
      openRefreshMs: null,
    },
    nowMs,
    0,
  );
  return pass.added;
}

onEachBackend('a backfill', (kind) => {
  test.each(datasets)(
    'stores every point of $title',
    async ({ series, range, requests, atMost = requests, maxEmptyMs = 0 }) => {
      const clock = { nowMs };
      const simulator = await simulate(clock);
      const pipeline = await openPipeline(kind, clock, simulator.url);
      const { database } = pipeline;
      const seriesId = await pipeline.track(series, range.startMs, range.endMs);
      expect(await listGaps(database, { nowMs, graceMs })).toMatchObject([{ ...range, reason: 'not_asked' }]);

      await pipeline.backfill();
      await expectComplete(pipeline, simulator, seriesId, series, range, maxEmptyMs);
      expect(requestsFor(range, longestRange(series))).toBe(requests);
      const { total, byStatus } = simulator.requests();
      expect(byStatus).toEqual({ 200: total });
      expect(total).toBeGreaterThanOrEqual(requests);
      expect(total).toBeLessThanOrEqual(atMost);

      await pipeline.backfill();
      expect(await passOf(pipeline)).toBe(0);
      expect(simulator.requests().total).toBe(total);

      // A third backfill requests only the extension of the tracked range.
      const earlierMs = range.startMs - longestRange(series);
      await pipeline.track(series, earlierMs, range.endMs);
      expect(await listGaps(database, { nowMs, graceMs })).toMatchObject([
        { startMs: earlierMs, endMs: range.startMs },
      ]);
    },
  );

  test('stores every series up to now at once, including the open candles', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const tracked = await Promise.all(
      [
        candles('binance', 'bitcoin', 'tether', 'm1'),
        candles('kraken', 'litecoin', 'euro', 'm1'),
        candles('kraken', 'bitcoin', 'euro', 'h1'),
      ].map(async (series) => {
        // Half a day longer than the longest range of a request: two windows, of which the newer contains the open
        // candle.
        const startMs = Math.floor(nowMs / hourMs) * hourMs - longestRange(series) - dayMs / 2;
        return { series, startMs, seriesId: await pipeline.track(series, startMs, null) };
      }),
    );
    await pipeline.backfill();
    for (const { series, startMs, seriesId } of tracked) {
      expect(await storedPoints(pipeline.database, series)).toEqual(
        truthOf(simulator, series, { startMs, endMs: nowMs }),
      );
      // At half past noon, with a minute of grace, the hour from noon and the last minute are still open.
      const closedMs = series.interval === 'm1' ? nowMs - 90_000 : nowMs - 30_000 - hourMs;
      expect(await coverageOf(pipeline.database, seriesId)).toEqual([{ startMs, endMs: closedMs }]);
    }
    const { total } = simulator.requests();
    expect(total).toBeGreaterThanOrEqual(6);
    // Two of them are in a thin market, where an empty range at either edge may be requested again.
    expect(total).toBeLessThanOrEqual(6 + 4);
    await pipeline.backfill();
    expect(simulator.requests().total).toBe(total);
  });

  test('stores each snapshot of the rates once while it runs', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const [{ series, range } = { series: undefined, range: undefined }] = datasets;
    if (series === undefined) throw new Error('no dataset');
    await pipeline.track(series, range.startMs, range.endMs);
    const settings = { tickMs: 100, refreshMs: 10_000, ratesMs: 100, backfillShare: 0.2 };
    const planning = await pipeline.startScheduler({ refresh: true, settings });
    const worker = await pipeline.startWorker();
    const polls = () => simulator.requests().byRoute['/v2/rates'] ?? 0;
    await waitFor('three polls of one minute', () => polls() >= 3);
    const truth = { [nowMs]: byId(simulator.truth.rates()) };
    clock.nowMs += 60_000;
    const laterMs = clock.nowMs;
    truth[laterMs] = byId(simulator.truth.rates());
    const before = polls();
    await waitFor('three polls of the next', () => polls() >= before + 3);
    await planning.settled();
    await planning.close();
    await worker.close();

    expect(truth[nowMs]).not.toEqual(truth[laterMs]);
    for (const [timeMs, rates] of Object.entries(truth)) {
      expect(await storedRates(pipeline.database, Number(timeMs))).toEqual(rates);
    }
    const count = truth[nowMs]?.length ?? 0;
    expect(count).toBeGreaterThan(30);
    const stored = await pipeline.database.pool.query<{ rates: number }>(
      'select count(*) as rates from rates',
    );
    expect(stored.rows).toEqual([{ rates: 2 * count }]);
    expect(await ratesStatus(pipeline.database)).toEqual({ currencies: count, newestMs: laterMs });
    // Polls do not take requests from the backfill.
    expect(await storedPoints(pipeline.database, series)).toEqual(truthOf(simulator, series, range));
  });
});

describeNeeding('plainPostgres', 'a backfill without TimescaleDB', () => {
  test('stores every series', async () => {
    const clock = { nowMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline('postgres', clock, simulator.url, { on: 'plain' });
    const extension = await pipeline.database.pool.query(
      `select from pg_extension where extname = 'timescaledb'`,
    );
    expect(extension.rowCount).toBe(0);
    const seriesIds = [];
    for (const { series, range } of datasets) {
      seriesIds.push(await pipeline.track(series, range.startMs, range.endMs));
    }
    await pipeline.backfill();
    for (const [index, { series, range, maxEmptyMs }] of datasets.entries()) {
      await expectComplete(pipeline, simulator, seriesIds[index] ?? 0, series, range, maxEmptyMs);
    }
    const { total } = simulator.requests();
    expect(total).toBeGreaterThanOrEqual(datasets.reduce((sum, { requests }) => sum + requests, 0));
    expect(total).toBeLessThanOrEqual(
      datasets.reduce((sum, { requests, atMost = requests }) => sum + atMost, 0),
    );
    await pipeline.backfill();
    expect(simulator.requests().total).toBe(total);
  });
});
