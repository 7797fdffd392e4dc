import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../contract/intervals.ts';
import type { CandleSeries, SeriesKey } from '../../contract/series.ts';
import { closedUpTo } from '../../planning/periods.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { graceMs, openPipeline, simulate } from './run-pipeline.ts';
import { type ServedRow, serveRows } from './serve-rows.ts';
import { coverageOf, revisionsOf, storedPoints, truthOf } from './stored.ts';

const bitcoinHours: CandleSeries = {
  dataset: 'candles',
  exchange: 'binance',
  baseId: 'bitcoin',
  quoteId: 'tether',
  interval: 'h1',
};
const noonMs = Date.UTC(2024, 2, 1, 12);

onEachBackend('refreshing', (kind) => {
  test('stores the open candle, replaces it while it changes, and covers it once it has closed', async () => {
    const clock = { nowMs: noonMs + 20 * minuteMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const startMs = noonMs - 4 * hourMs;
    const seriesId = await pipeline.track(bitcoinHours, startMs, null);
    const scheduler = await pipeline.startScheduler({ refresh: true });
    await pipeline.startWorker();
    const truth = () => truthOf(simulator, bitcoinHours, { startMs, endMs: clock.nowMs });
    const covered = () => coverageOf(pipeline.database, seriesId);

    await scheduler.settled();
    const early = truth();
    expect(early).toHaveLength(5);
    expect(await storedPoints(pipeline.database, bitcoinHours)).toEqual(early);
    expect(await covered()).toEqual([{ startMs, endMs: noonMs }]);

    clock.nowMs = noonMs + 40 * minuteMs;
    await scheduler.settled();
    expect(truth()).toHaveLength(5);
    expect(truth()).not.toEqual(early);
    expect(await storedPoints(pipeline.database, bitcoinHours)).toEqual(truth());
    expect(await covered()).toEqual([{ startMs, endMs: noonMs }]);

    // It has closed by the clock. Within the grace period it may still change.
    clock.nowMs = noonMs + hourMs + graceMs / 2;
    await scheduler.settled();
    expect(truth()).toHaveLength(6);
    expect(await storedPoints(pipeline.database, bitcoinHours)).toEqual(truth());
    expect(await covered()).toEqual([{ startMs, endMs: noonMs }]);

    clock.nowMs = noonMs + hourMs + graceMs;
    await scheduler.settled();
    expect(await storedPoints(pipeline.database, bitcoinHours)).toEqual(truth());
    expect(await covered()).toEqual([{ startMs, endMs: noonMs + hourMs }]);

    // One request each time, and no closed row was rewritten.
    expect(simulator.requests().total).toBe(4);
    // A change of an open candle is no revision.
    expect(await revisionsOf(pipeline.database, seriesId)).toEqual([]);
  });

  test('keeps open-ended series of every kind up to date, each minute and after days of downtime', async () => {
    const clock = { nowMs: noonMs + 10_000 };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const startMs = noonMs - 2 * hourMs;
    const every: readonly SeriesKey[] = [
      { ...bitcoinHours, interval: 'm1' },
      { ...bitcoinHours, exchange: 'bitso', baseId: 'xrp', quoteId: 'mexican-peso', interval: 'm1' },
      bitcoinHours,
      { dataset: 'asset_history', assetId: 'ethereum', interval: 'm1' },
      { dataset: 'asset_history', assetId: 'ethereum', interval: 'm5' },
    ];
    const tracked = new Map<number, SeriesKey>();
    for (const series of every) tracked.set(await pipeline.track(series, startMs, null), series);
    let scheduler = await pipeline.startScheduler({ refresh: true });
    const worker = await pipeline.startWorker();

    async function expectKeptUp(): Promise<void> {
      await scheduler.settled();
      for (const [seriesId, series] of tracked) {
        const endMs = closedUpTo(series, clock.nowMs, graceMs);
        expect(await coverageOf(pipeline.database, seriesId)).toEqual([{ startMs, endMs }]);
        expect(await storedPoints(pipeline.database, series)).toEqual(
          truthOf(simulator, series, { startMs, endMs: clock.nowMs + 1 }),
        );
      }
      expect(await listGaps(pipeline.database, { nowMs: clock.nowMs, graceMs })).toEqual([]);
    }

    await expectKeptUp();
    for (const aheadMs of [minuteMs, minuteMs, 2 * minuteMs, hourMs]) {
      clock.nowMs += aheadMs;
      await expectKeptUp();
    }
    await scheduler.close();
    clock.nowMs += 3 * dayMs;
    scheduler = await pipeline.startScheduler({ refresh: true });
    await expectKeptUp();
    await worker.close();
  });

  test('requests the mean of a day only after the day is over', async () => {
    const midnightMs = noonMs + dayMs / 2;
    const clock = { nowMs: midnightMs - 10 * minuteMs };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const series: SeriesKey = { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' };
    const startMs = midnightMs - 30 * dayMs;
    const seriesId = await pipeline.track(series, startMs, null);
    const scheduler = await pipeline.startScheduler({ refresh: true });
    await pipeline.startWorker();
    await scheduler.settled();
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([{ startMs, endMs: midnightMs - dayMs }]);

    for (const nowMs of [midnightMs - 1, midnightMs, midnightMs + graceMs - 1]) {
      clock.nowMs = nowMs;
      await scheduler.settled();
      expect(simulator.requests().total).toBe(1);
    }
    clock.nowMs = midnightMs + graceMs;
    await scheduler.settled();
    expect(simulator.requests().total).toBe(2);
    expect(await coverageOf(pipeline.database, seriesId)).toEqual([{ startMs, endMs: midnightMs }]);
    const stored = await storedPoints(pipeline.database, series);
    expect(stored).toEqual(truthOf(simulator, series, { startMs, endMs: midnightMs }));
    expect(stored.at(-1)).toMatchObject({ time: midnightMs - dayMs });
    expect(await revisionsOf(pipeline.database, seriesId)).toEqual([]);
  });

  test('replaces a closed value that the source changes, and keeps the old value', async () => {
    const clock = { nowMs: noonMs + 20 * minuteMs };
    const rows = new Map<number, ServedRow>();
    function write(hoursBack: number, price: string): void {
      const period = noonMs - hoursBack * hourMs;
      const prices = `"open":"${price}","high":"${price}","low":"${price}","close":"${price}"`;
      rows.set(period, { timeMs: period, json: `{${prices},"volume":"0.50","period":${period}}` });
    }
    for (let hoursBack = 0; hoursBack <= 5; hoursBack++) write(hoursBack, `${100 + hoursBack}.1000`);
    const server = await serveRows(() => ({ rows: [...rows.values()], timestampMs: clock.nowMs }));
    const pipeline = await openPipeline(kind, clock, server.baseUrl);
    const seriesId = await pipeline.track(bitcoinHours, noonMs - 5 * hourMs, null);
    const scheduler = await pipeline.startScheduler({ refresh: true });
    await pipeline.startWorker();
    await scheduler.settled();
    expect(await revisionsOf(pipeline.database, seriesId)).toEqual([]);

    // The same value in another notation is no change.
    write(1, '101.1');
    clock.nowMs += minuteMs;
    await scheduler.settled();
    expect(server.requests).toHaveLength(2);
    expect(await revisionsOf(pipeline.database, seriesId)).toEqual([]);

    write(1, '101.20');
    clock.nowMs += minuteMs;
    const seenAtMs = clock.nowMs;
    await scheduler.settled();
    write(1, '101.300');
    clock.nowMs += minuteMs;
    await scheduler.settled();
    const before = (price: string) => ({
      open: price,
      high: price,
      low: price,
      close: price,
      volume: '0.50',
    });
    expect(await revisionsOf(pipeline.database, seriesId)).toEqual([
      { timeMs: noonMs - hourMs, seenAtMs, before: before('101.1000') },
      { timeMs: noonMs - hourMs, seenAtMs: clock.nowMs, before: before('101.20') },
    ]);
    expect((await storedPoints(pipeline.database, bitcoinHours)).at(-2)).toEqual({
      ...before('101.300'),
      period: noonMs - hourMs,
    });
  });
});
