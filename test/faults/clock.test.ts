import { expect } from 'vitest';
import { hourMs, minuteMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import { closedUpTo } from '../../planning/periods.ts';
import { graceMs, openPipeline, simulate } from '../pipeline/run-pipeline.ts';
import { coverageOf, revisionsOf, storedPoints, truthOf } from '../pipeline/stored.ts';
import { onEachBackend } from '../queue/queue-parts.ts';
import { seededTest } from './seeded.ts';

const noonMs = Date.UTC(2024, 2, 1, 12);
const startMs = noonMs - 2 * hourMs;
const offMs = 5 * minuteMs;

const market = { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether' } as const;
const every: readonly SeriesKey[] = [
  { ...market, interval: 'm1' },
  { ...market, interval: 'h1' },
  { dataset: 'asset_history', assetId: 'ethereum', interval: 'm1' },
];

onEachBackend('coverage', (kind) => {
  for (const { title, clockOffsetMs } of [
    { title: 'ends at our clock when the clock of the source is five minutes ahead', clockOffsetMs: offMs },
    { title: 'ends at the clock of the source when that is five minutes behind', clockOffsetMs: -offMs },
  ]) {
    seededTest(title, async (chance) => {
      const clock = { nowMs: noonMs + 10_000 };
      const simulator = await simulate(clock, { seed: chance.seed, faults: { clockOffsetMs } });
      const pipeline = await openPipeline(kind, clock, simulator.url);
      const tracked = new Map<number, SeriesKey>();
      for (const series of every) tracked.set(await pipeline.track(series, startMs, null), series);
      const scheduler = await pipeline.startScheduler({ refresh: true });
      await pipeline.startWorker();

      /** Every covered period had closed by both clocks, and has its final value. */
      async function expectTrue(isUpToDate: boolean): Promise<void> {
        await scheduler.settled();
        for (const [seriesId, series] of tracked) {
          const covered = await coverageOf(pipeline.database, seriesId);
          const oursMs = closedUpTo(series, clock.nowMs, graceMs);
          const theirsMs = closedUpTo(series, clock.nowMs + clockOffsetMs, 0);
          const endMs = covered.at(-1)?.endMs ?? startMs;
          if (isUpToDate) expect(covered).toEqual([{ startMs, endMs: oursMs }]);
          else expect(endMs).toBeLessThanOrEqual(Math.min(oursMs, theirsMs));
          const final = simulator.truth;
          const range = { startMs, endMs };
          const asOfMs = clock.nowMs + hourMs * 24;
          const truth =
            series.dataset === 'candles'
              ? final.candles(series, range, asOfMs)
              : final.history(series, range, asOfMs);
          const stored = await storedPoints(pipeline.database, series);
          expect(stored.slice(0, truth.length)).toEqual(truth);
          // A change of an open candle is no revision, and nothing else has changed.
          expect(await revisionsOf(pipeline.database, seriesId)).toEqual([]);
        }
      }

      for (let steps = 0; steps < 8; steps += 1) {
        await expectTrue(false);
        clock.nowMs += chance.whole(20, 200) * 1000;
      }
      // The source's clock is corrected.
      simulator.setFaults({});
      clock.nowMs += 2 * offMs;
      await expectTrue(true);
      const [series] = every;
      if (series === undefined) throw new Error('no series');
      expect((await storedPoints(pipeline.database, series)).length).toBe(
        truthOf(simulator, series, { startMs, endMs: clock.nowMs + 1 }).length,
      );
    });
  }
});
