import { expect, onTestFinished, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../contract/intervals.ts';
import type { CandleSeries } from '../../contract/series.ts';
import { planTick, type TickParts } from '../../scheduler/plan-tick.ts';
import { postponeProbe } from '../../store/commit/commit-probe.ts';
import { waitFor } from '../parts/wait-for.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { graceMs, openPipeline, simulate } from './run-pipeline.ts';

const refreshed = [
  ...['bitcoin', 'ethereum', 'binance-coin', 'solana', 'xrp', 'cardano', 'dogecoin', 'litecoin'].map(
    (baseId) => hours('binance', baseId, 'tether'),
  ),
  ...['bitcoin', 'ethereum', 'solana'].map((baseId) => hours('coinbase', baseId, 'united-states-dollar')),
];
const requestsPerMinute = 10;
const backfillShare = 0.2;

function hours(exchange: string, baseId: string, quoteId: string): CandleSeries {
  return { dataset: 'candles', exchange, baseId, quoteId, interval: 'h1' };
}

onEachBackend('a request budget that is too small', (kind) => {
  test('goes to refreshes first, and leaves backfill its share', async () => {
    const clock = { nowMs: Date.UTC(2024, 2, 1, 12, 20) };
    const simulator = await simulate(clock);
    const pipeline = await openPipeline(kind, clock, simulator.url);
    const { database } = pipeline;
    const { requests } = pipeline.queues;
    // Eleven series to refresh, more than a minute's budget, and half a year of minutes to fill.
    for (const series of refreshed) await pipeline.track(series, clock.nowMs - 12 * hourMs, null);
    const past = Date.UTC(2023, 6, 1);
    const minutes: CandleSeries = { ...hours('kraken', 'bitcoin', 'euro'), interval: 'm1' };
    // No probe for the beginning of the series.
    await postponeProbe(
      database,
      await pipeline.track(minutes, past - 180 * dayMs, past),
      clock.nowMs + dayMs,
    );
    const parts: TickParts = {
      database,
      requests,
      requestsPerMinute,
      backfillShare,
      graceMs,
      openRefreshMs: 1000,
    };

    const order = () =>
      simulator
        .requests()
        .recent.map(({ url }) => (url.includes('interval=h1') ? 'R' : 'B'))
        .join('');
    // No request limit, so that nothing waits for the real clock. One at a time makes the order visible.
    const settings = { concurrency: 1, attempts: 3, failedRetryMs: 0, emptyConfirmMs: 0, graceMs };
    const work = async (until: string, condition: () => boolean | Promise<boolean>) => {
      const worker = await pipeline.startWorker({ settings });
      await waitFor(until, condition);
      await worker.close();
    };
    const load = async () => (await requests.claimedWindows()).load;
    const isIdle = async () => (await requests.claimedWindows()).windows.size === 0;
    onTestFinished(() => expect(simulator.requests().byStatus).toEqual({ 200: order().length }));

    let { cursor } = await planTick(parts, clock.nowMs, 0);
    expect(await load()).toMatchObject({ refresh: 8, backfill: 2 });
    await work('the first minute', isIdle);
    expect(order()).toBe('RRRRRRRRBB');

    // Refreshes have used their share of this minute, although the other three are due.
    ({ cursor } = await planTick(parts, clock.nowMs, cursor));
    expect(await load()).toMatchObject({ refresh: 0, backfill: 10 });
    // Slow answers, so that the worker stops before the queue is empty.
    simulator.setFaults({ latencyMs: 150 });
    await work('some of the backfill', () => order().length >= 13);
    simulator.setFaults({});
    const left = (await load()).backfill;
    expect(left).toBeGreaterThan(0);

    // In the next minute, refreshes overtake the jobs that were queued before them.
    clock.nowMs += minuteMs + 1;
    const before = order().length;
    ({ cursor } = await planTick(parts, clock.nowMs, cursor));
    const { refresh } = await load();
    expect(refresh).toBe(Math.min(8, requestsPerMinute - left));
    await work('the next minute', isIdle);
    expect(order().slice(before)).toBe('R'.repeat(refresh) + 'B'.repeat(order().length - before - refresh));
    expect(order().length - before).toBeGreaterThan(refresh);
  });
});
