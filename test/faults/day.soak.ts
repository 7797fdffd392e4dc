/** A day of refreshes and backfill within minutes, with faults of every kind throughout. */

import { expect } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../model/intervals.ts';
import { subtract } from '../../model/ranges.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { closedUpTo } from '../../planning/periods.ts';
import type { Faults } from '../../simulator/faults/faults.ts';
import { type Gap, listGaps } from '../../store/series/gaps.ts';
import type { ChildModule } from '../parts/child-module.ts';
import { waitFor } from '../parts/wait-for.ts';
import { clockOf } from '../pipeline/process-clock.ts';
import { openPipeline, type Pipeline, simulate } from '../pipeline/run-pipeline.ts';
import { coverageOf, storedPoints, truthOf } from '../pipeline/stored.ts';
import { emptyQueue, onEachBackend } from '../queue/queue-parts.ts';
import { maxBeyondBudget } from './answered.ts';
import { lockMs } from './backfill.ts';
import { terminateSome } from './database-away.ts';
import { memoryOf } from './memory.ts';
import { startWorkerProcess, workerName } from './processes.ts';
import { type Chance, seededTest } from './seeded.ts';

/** The real duration of the day. */
const takesMs = 240_000;
const speed = dayMs / takesMs;
const requestsPerMinute = 600;
const concurrency = 8;
const midnightMs = Date.UTC(2024, 2, 1);
const graceMs = minuteMs;

const market = { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether' } as const;
const past = { startMs: Date.UTC(2023, 2, 1), endMs: Date.UTC(2024, 1, 1) };
const pastSeries: SeriesKey = { ...market, exchange: 'kraken', quoteId: 'euro', interval: 'h1' };
const present: readonly SeriesKey[] = [
  { ...market, interval: 'm1' },
  { ...market, exchange: 'bitso', baseId: 'xrp', quoteId: 'mexican-peso', interval: 'm1' },
  { ...market, interval: 'h1' },
  { dataset: 'asset_history', assetId: 'ethereum', interval: 'm1' },
  { dataset: 'asset_history', assetId: 'ethereum', interval: 'm5' },
];
/** More windows in the past than the queue may hold. */
const rangeLimits = { candles: { h1: 6 * hourMs, m1: 6 * hourMs } };

/**
 * The source's faults for a while. It is falsely empty only once: a second false answer an hour later would be
 * accepted.
 */
function weather(chance: Chance, place: number): Partial<Faults> {
  if (place === 3) return { emptyRate: 0.3 };
  const rate = () => chance.whole(0, 8) / 100;
  return chance.oneOf<() => Partial<Faults>>([
    () => ({}),
    () => ({ latencyMs: chance.whole(1, 200) }),
    () => ({ errorRate: rate(), htmlRate: rate(), notFoundRate: rate(), truncateRate: rate() }),
    () => ({ timeoutRate: rate() / 4, dripRate: rate() / 4, resetRate: rate(), latencyMs: 20 }),
    () => ({ staleRate: rate(), hugeRate: rate() / 8, hugeBytes: 20_000_000 }),
    () => ({ rateLimitRate: rate() / 8, rateLimitBurst: chance.whole(1, 10) }),
    () => ({ errorRate: 1 }),
    () => ({ clockOffsetMs: chance.whole(-5, 5) * minuteMs }),
  ])();
}

onEachBackend('a day in minutes, with faults throughout', (kind) => {
  seededTest(
    'ends with every point stored, stable memory and sessions, and an empty queue',
    async (chance) => {
      const told = { nowMs: midnightMs, startedAtMs: Date.now(), speed };
      const now = clockOf(told);
      const clock = {
        get nowMs() {
          return now();
        },
      };
      const simulator = await simulate(clock, { seed: chance.seed });
      const pipeline = await openPipeline(kind, clock, simulator.url, { attempts: 3, complaints: /./ });
      const { database } = pipeline;
      const startMs = midnightMs - 2 * hourMs;
      const tracked = new Map<number, SeriesKey>();
      for (const series of present) tracked.set(await pipeline.track(series, startMs, null), series);
      const pastId = await pipeline.track(pastSeries, past.startMs, past.endMs);

      const settings = { concurrency, attempts: 3, failedRetryMs: 5 * minuteMs, emptyConfirmMs: hourMs, graceMs };
      const startWorker = () =>
        startWorkerProcess(
          { pipeline, simulator, attempts: 3, nowMs: now, worker: { settings } },
          { clock: told, requestsPerMinute, timeoutMs: 2000, lockMs },
        );
      const workers: ChildModule[] = [startWorker(), startWorker()];
      const scheduler = await pipeline.startScheduler({
        refresh: true,
        requestsPerMinute,
        rangeLimits,
        lockMs,
        // The budget counts real minutes and the ledger fast ones, so the tick reserves the share of backfill: five
        // series have a new minute at each tick, which is half of the budget.
        settings: { tickMs: 1000, refreshMs: 10 * minuteMs, pollsByDefault: false, backfillShare: 0.3 },
      });
      for (const worker of workers) await worker.waitForPrinted(/works/);

      const report: string[] = [];
      async function tellMemory(when: string): Promise<number> {
        const [eldest] = workers;
        if (eldest === undefined) throw new Error('no worker');
        const { rssMb, maxMb } = await memoryOf(eldest);
        const own = Math.round(process.memoryUsage().rss / 2 ** 20);
        report.push(`${when}: worker RSS ${rssMb} MB, ${maxMb} at most; scheduler and simulator ${own} MB`);
        return rssMb;
      }
      const depths: number[] = [];
      const sessions: number[] = [];
      const memory: number[] = [];
      const endMs = midnightMs + dayMs;
      const changes = 40;
      for (let place = 0; place < changes; place += 1) {
        simulator.setFaults(weather(chance, place));
        const untilMs = midnightMs + ((place + 1) * (endMs - midnightMs)) / changes;
        // The first worker runs throughout, so its memory is reported.
        if (chance.happens(0.2)) {
          await workers[1]?.end('SIGKILL');
          workers[1] = startWorker();
        }
        if (chance.happens(0.2)) await terminateSome(database, 0.5).catch(() => 0);
        if (chance.happens(0.1)) await emptyQueue(pipeline.queueOptions);
        await waitFor('the next faults', () => now() >= untilMs, { everyMs: 100, withinMs: takesMs });
        const depth = await pipeline.queues.requests.depth().catch(() => null);
        if (depth !== null) depths.push(depth.waiting + depth.active + depth.delayed);
        sessions.push(await sessionsOf(pipeline).catch(() => 0));
        if (place === 1) memory.push(await tellMemory('after a while'));
        if (place === changes / 2) memory.push(await tellMemory('in the middle'));
      }
      simulator.setFaults({});
      memory.push(await tellMemory('at the end'));

      let left: readonly Gap[] = [];
      const isSettled = async () => {
        const gaps = await listGaps(database, { nowMs: now(), graceMs });
        left = gaps.filter((gap) => gap.startMs < endMs);
        return left.length === 0;
      };
      await waitFor('every gap to be filled', () => isSettled().catch(() => false), {
        everyMs: 200,
        withinMs: 180_000,
      }).catch(async (error: unknown) => {
        const depth = await pipeline.queues.requests.depth();
        const { byFault, total } = simulator.requests();
        console.log(JSON.stringify({ now: now(), depth, total, byFault, left: left.slice(0, 20) }, null, 1));
        throw error;
      });
      await scheduler.close();
      for (const worker of workers) await worker.end('SIGKILL');
      const asOfMs = now();

      for (const [seriesId, series] of [...tracked, [pastId, pastSeries] as const]) {
        const wanted = seriesId === pastId ? past : { startMs, endMs: closedUpTo(series, endMs, graceMs) };
        const truth = simulator.truth.points(series, wanted, asOfMs);
        const isWanted = (row: object) => {
          const timeMs = 'period' in row ? Number(row.period) : 'time' in row ? Number(row.time) : 0;
          return wanted.startMs <= timeMs && timeMs < wanted.endMs;
        };
        const stored = (await storedPoints(database, series)).filter(isWanted);
        expect(stored, seriesName(series)).toEqual(truth);
        expect(subtract([wanted], await coverageOf(database, seriesId))).toEqual([]);
      }
      const requests = simulator.requests();
      report.push(
        `${requests.total} requests, ${JSON.stringify(requests.byFault)}, queue at most ${Math.max(...depths)}, ` +
          `sessions at most ${Math.max(...sessions)}`,
      );
      console.log(report.join('\n'));
      // A minute's budget, and the jobs in flight that a flush removed.
      expect(Math.max(...depths)).toBeLessThanOrEqual(requestsPerMinute + 4 * concurrency);
      // Each flush loses the spacing once, and each killed worker leaves its requests in flight.
      expect(maxBeyondBudget(requests, requestsPerMinute)).toBeLessThanOrEqual(8 * concurrency);
      const [early = 0, , late = 0] = memory;
      expect(late - early).toBeLessThan(150);
      await waitFor('all sessions of the workers to end', async () => (await workerSessions(pipeline)) === 0);
      expect(truthOf(simulator, pastSeries, past).length).toBeGreaterThan(7000);
    },
    { timeout: 3 * takesMs + 300_000 },
  );
});

async function sessionsOf({ database }: Pick<Pipeline, 'database'>): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*) from pg_stat_activity where datname = current_database() and backend_type = 'client backend'`,
  );
  return rows[0]?.count ?? 0;
}

async function workerSessions({ database }: Pick<Pipeline, 'database'>): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*) from pg_stat_activity where datname = current_database() and application_name = $1',
    [workerName],
  );
  return rows[0]?.count ?? 0;
}
