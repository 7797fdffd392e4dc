import { expect } from 'vitest';
import { dayMs, minuteMs } from '../../contract/intervals.ts';
import { cut } from '../../planning/ranges.ts';
import { rateLimitHeaders } from '../../simulator/faults/faults.ts';
import { listGaps } from '../../store/series/gaps.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyConfirmMs, failedRetryMs, graceMs } from '../pipeline/run-pipeline.ts';
import { coverageOf, revisionsOf, storedPoints, truthOf, verdictsOf } from '../pipeline/stored.ts';
import { collectingLog, onEachBackend } from '../queue/queue-parts.ts';
import { beginBackfill, concurrency, windowMs } from './backfill.ts';
import { quickPauses } from './quick-pauses.ts';
import { quickRetries } from './quick-retries.ts';
import { seededTest } from './seeded.ts';
import { expectTrueSoFar, expectWhole, untilWhole, watch } from './witness.ts';

onEachBackend('a backfill from a faulty source', (kind) => {
  seededTest('loses nothing when three in ten requests fail, in every way', async (chance) => {
    const backfill = await beginBackfill(kind, chance, {
      windows: 40,
      faults: {
        errorRate: 0.05,
        notFoundRate: 0.04,
        htmlRate: 0.04,
        truncateRate: 0.04,
        resetRate: 0.04,
        timeoutRate: 0.02,
        dripRate: 0.02,
        hugeRate: 0.02,
        rateLimitRate: 0.01,
        rateLimitBurst: 3,
        staleRate: 0.05,
        hugeBytes: 20_000_000,
      },
      // Enough that no window is deferred.
      attempts: 20,
      source: { timeoutMs: 2000 },
      requestsPerMinute: 3000,
    });
    const watching = watch(backfill);
    const { pipeline } = backfill;
    await pipeline.startScheduler(backfill.scheduler);
    await pipeline.startWorker({ ...backfill.worker, queues: quickRetries(pipeline.queues) });
    await untilWhole(backfill, 90_000);
    await watching.stop();
    await expectWhole(backfill);
    // Every fault cost its own request and no other window's. The ledger has them all.
    const { stale: _, ...faulty } = backfill.simulator.requests().byFault;
    const failed = Object.values(faulty).reduce((sum, count) => sum + count, 0);
    expect(failed).toBeGreaterThan(backfill.windows() / 10);
    backfill.expectFewRequests({ extra: failed });
    const verdicts = await verdictsOf(backfill.database);
    const asked = verdicts.reduce((sum, { requests }) => sum + requests, 0);
    // An empty range at the edge of a window is requested again, with the points beside it.
    const ofParts = backfill.simulator.requests().total - backfill.requestsForWindows();
    expect(asked).toBeGreaterThanOrEqual(backfill.windows() + failed);
    expect(asked).toBeLessThanOrEqual(backfill.windows() + failed + ofParts);
  });

  seededTest('loses nothing when one in five answers is falsely empty', async (chance) => {
    const backfill = await beginBackfill(kind, chance, { windows: 40, faults: { emptyRate: 0.2 } });
    const { pipeline, simulator, clock } = backfill;
    await pipeline.backfill(backfill.worker, backfill.scheduler);
    await expectTrueSoFar(backfill);
    const { empty = 0 } = simulator.requests().byFault;
    expect(empty).toBeGreaterThan(0);
    const gaps = await listGaps(backfill.database, { nowMs: clock.nowMs, graceMs });
    expect(gaps.every((gap) => gap.reason === 'awaits_second_answer')).toBe(true);

    simulator.setFaults({});
    clock.nowMs += emptyConfirmMs;
    await pipeline.backfill(backfill.worker, backfill.scheduler);
    await expectWhole(backfill);
    backfill.expectFewRequests({ extra: empty });
  });

  seededTest(
    'pauses ever longer when the source is unreachable for minutes, and logs that once',
    async (chance) => {
      const awayMs = 10 * minuteMs;
      const backfill = await beginBackfill(kind, chance, { windows: 60, attempts: 2 });
      const { pipeline, simulator, clock } = backfill;
      const lines: string[] = [];
      const { queues, pausesMs } = quickPauses(pipeline.queues, clock);
      const watching = watch(backfill);
      await pipeline.startScheduler(backfill.scheduler);
      simulator.setFaults({ latencyMs: 20 });
      await pipeline.startWorker({ ...backfill.worker, queues, log: collectingLog(lines) });
      await backfill.requestsMore(chance.whole(5, 30));
      // Requests in flight were sent before.
      clock.nowMs += 1000;
      const awaySinceMs = clock.nowMs;
      const before = simulator.requests().total;
      simulator.setFaults({ errorRate: 1 });
      await waitFor('the end of the outage', () => clock.nowMs >= awaySinceMs + awayMs, { withinMs: 60_000 });
      simulator.setFaults({});
      const during = simulator.requests().total - before;

      const growing = pausesMs.filter(
        (ms, place) => place === 0 || ms > Math.max(...pausesMs.slice(0, place)),
      );
      expect(growing).toEqual([1, 2, 4, 8, 16, 32, 60].map((seconds) => seconds * 1000));
      // After each pause, workers send as many requests as they can before the first answer, and those claimed meanwhile.
      expect(during).toBeLessThanOrEqual((pausesMs.length + 2) * 2 * concurrency);

      // Deferred windows are due again.
      await waitFor('work to resume', () => simulator.requests().total > before + during);
      clock.nowMs += failedRetryMs;
      await untilWhole(backfill, 90_000);
      await watching.stop();
      await expectWhole(backfill);
      expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['the source is unreachable; retrying']);
    },
  );

  for (const form of rateLimitHeaders) {
    seededTest(
      `pauses and loses nothing when the source refuses requests in bursts: ${form}`,
      async (chance) => {
        const backfill = await beginBackfill(kind, chance, { windows: 30 });
        const { pipeline, simulator, clock } = backfill;
        const rateLimitResetMs = 1000 * chance.whole(2, 50);
        const { queues, pausesMs } = quickPauses(pipeline.queues, clock);
        await pipeline.startScheduler(backfill.scheduler);
        simulator.setFaults({ latencyMs: 20 });
        await pipeline.startWorker({ ...backfill.worker, queues });
        for (let storms = 0; storms < 2; storms += 1) {
          const { count429 } = simulator.requests();
          await backfill.requestsMore(chance.whole(1, 10));
          simulator.setFaults({ rateLimitRate: 1, rateLimitHeader: form, rateLimitResetMs });
          const refused = chance.whole(1, 3 * concurrency);
          await waitFor('a storm', () => simulator.requests().count429 >= count429 + refused, { everyMs: 5 });
          simulator.setFaults({ latencyMs: 20 });
        }
        await untilWhole(backfill);
        await expectWhole(backfill);
        const saidMs = form === 'none' ? minuteMs : rateLimitResetMs;
        expect(pausesMs).toContain(saidMs);
        // A time that has already passed says nothing, and the default of a minute applies.
        const isAbsolute = form === 'reset' || form === 'date';
        const unheeded = pausesMs.filter((ms) => ms > saidMs && !(isAbsolute && ms === minuteMs));
        expect(unheeded).toEqual([]);
        backfill.expectFewRequests({ extra: simulator.requests().count429 });
      },
    );
  }

  seededTest(
    'stores revised values and keeps the old ones when the source revises answers',
    async (chance) => {
      const backfill = await beginBackfill(kind, chance, {
        windows: 30,
        faults: { reviseRate: chance.whole(10, 40) / 100, reviseAfterMs: 18 * dayMs },
      });
      const { pipeline, simulator, clock, tracked, database } = backfill;
      const truth = () =>
        new Map([...tracked].map(([id, series]) => [id, truthOf(simulator, series, backfill.range())]));
      await pipeline.backfill(backfill.worker, backfill.scheduler);
      await expectWhole(backfill);
      const early = truth();
      clock.nowMs += 30 * dayMs;
      const final = truth();

      const windows = [...tracked].flatMap(([seriesId, series]) =>
        [...cut(backfill.range(), windowMs)].map((range) => ({
          seriesId,
          series,
          ...range,
          lane: 'backfill' as const,
        })),
      );
      // The second reading finds the revised values, the third none.
      for (const readings of [2, 3]) {
        await pipeline.queues.requests.addWindows(windows);
        await pipeline.backfill(backfill.worker, backfill.scheduler);
        expect(backfill.requestsForWindows()).toBe(readings * windows.length);
      }
      let revised = 0;
      for (const [seriesId, series] of tracked) {
        expect(await storedPoints(database, series)).toEqual(final.get(seriesId));
        const before = (early.get(seriesId) ?? []).filter(
          (row, place) => JSON.stringify(row) !== JSON.stringify(final.get(seriesId)?.[place]),
        );
        const kept = await revisionsOf(database, seriesId);
        expect(kept.map((revision) => revision.timeMs)).toEqual(
          before.map((row) => ('period' in row ? row.period : 'time' in row ? row.time : null)),
        );
        for (const [place, revision] of kept.entries()) {
          const { price_usd: priceUsd, ...columns } = revision.before;
          expect(before[place]).toMatchObject(priceUsd === undefined ? columns : { priceUsd });
        }
        revised += kept.length;
      }
      expect(revised).toBeGreaterThan(0);
    },
  );

  seededTest('loses nothing when the source caps its answers at any number of rows', async (chance) => {
    const maxRows = chance.whole(20, 300);
    const backfill = await beginBackfill(kind, chance, { windows: 120, faults: { maxRows } });
    const monthly = { candles: {}, asset_history: {} };
    await backfill.pipeline.backfill(backfill.worker, { ...backfill.scheduler, rangeLimits: monthly });
    const { range, tracked, simulator, database } = backfill;
    let least = 0;
    let most = 0;
    for (const [seriesId, series] of tracked) {
      const truth = truthOf(simulator, series, range());
      expect(await storedPoints(database, series)).toEqual(truth);
      expect(await coverageOf(database, seriesId)).toEqual([range()]);
      // The rest of an answer is requested together with its last point, which is repeated in each answer but the
      // first. A range of the maximum length has no room for it.
      least += Math.ceil(truth.length / maxRows);
      most += Math.ceil((truth.length - 1) / (maxRows - 1));
    }
    // A last answer that is full to the cap before a silent end needs one more request.
    expect(simulator.requests().total).toBeGreaterThanOrEqual(least);
    expect(simulator.requests().total).toBeLessThanOrEqual(most + tracked.size);
  });
});
