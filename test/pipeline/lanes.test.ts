import { expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { defaultSource } from '../../model/sources.ts';
import { runPass } from '../../scheduler/pass.ts';
import { postponeProbe } from '../../store/commit/deferred-windows.ts';
import { waitFor } from '../parts/wait-for.ts';
import { bitcoinHours, onEachBackend } from '../queue/queue-parts.ts';
import { graceMs, openPipeline, simulate } from './run-pipeline.ts';

const refreshed = ['bitcoin', 'ethereum', 'binance-coin', 'solana', 'xrp', 'cardano', 'dogecoin', 'litecoin'];

onEachBackend('a request budget that is too small', (kind) => {
  test('goes to refreshes first, and leaves backfill its share of each minute', async () => {
    const clock = { nowMs: Date.UTC(2024, 2, 1, 12, 20) };
    const simulator = await simulate(clock);
    const { database, queues, track, startWorker } = await openPipeline(kind, clock, simulator.url);
    const { requests } = queues;
    // Sixteen series to refresh, more than a minute's budget, and half a year of minutes to fill.
    for (const interval of ['h1', 'h2'] as const)
      for (const baseId of refreshed)
        await track({ ...bitcoinHours, baseId, interval }, clock.nowMs - 12 * hourMs, null);
    const past = Date.UTC(2023, 6, 1);
    const minutes = { ...bitcoinHours, exchange: 'kraken', quoteId: 'euro', interval: 'm1' } as const;
    // No probe for the beginning of the series.
    const seriesId = await track(minutes, past - 180 * dayMs, past);
    await postponeProbe.on(database.pool, { seriesId, untilMs: clock.nowMs + dayMs });

    let cursor = 0;
    const pass = async () => {
      const rules = { backfillShare: 0.2, graceMs, openRefreshMs: 1000 };
      const source = { name: defaultSource, requestsPerMinute: 10 };
      ({ cursor } = await runPass({ database, requests, source, rules }, clock.nowMs, cursor));
      return (await requests.claimedWindows()).load;
    };
    /** The requests until the queue is empty: R a refresh, B of the backfill. One at a time makes the order visible. */
    const work = async () => {
      const before = simulator.requests().total;
      const settings = { concurrency: 1, attempts: 3, failedRetryMs: 0, emptyConfirmMs: 0, graceMs };
      const worker = await startWorker({ settings });
      await waitFor('an empty queue', async () => (await requests.claimedWindows()).windows.size === 0);
      await worker.close();
      const { recent, total, byStatus } = simulator.requests();
      expect(byStatus).toEqual({ 200: total });
      return recent
        .slice(before - total)
        .map(({ url }) => (url.includes('interval=m1') ? 'B' : 'R'))
        .join('');
    };

    expect(await pass()).toMatchObject({ refresh: 8, backfill: 2 });
    expect(await work()).toBe('RRRRRRRRBB');
    // Refreshes have used their share of this minute, although the other eight are due.
    expect(await pass()).toMatchObject({ refresh: 0, backfill: 10 });
    expect(await work()).toBe('BBBBBBBBBB');
    clock.nowMs += minuteMs + 1;
    expect(await pass()).toMatchObject({ refresh: 8, backfill: 2 });
    expect(await work()).toBe('RRRRRRRRBB');
  });
});
