/** A backfill of two series in many small windows, as a target for faults. */

import { expect } from 'vitest';
import { type EpochMs, hourMs } from '../../model/intervals.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { limiterFor } from '../../planning/budget.ts';
import type { Faults } from '../../simulator/faults/faults.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import type { Database } from '../../store/db/database.ts';
import type { WorkerOptions } from '../../workers/worker.ts';
import { waitFor } from '../parts/wait-for.ts';
import {
  emptyConfirmMs,
  failedRetryMs,
  type GivenTime,
  graceMs,
  openPipeline,
  type Pipeline,
  type PipelineOptions,
  type PipelineScheduler,
  simulate,
} from '../pipeline/run-pipeline.ts';
import type { Kind } from '../queue/queue-parts.ts';
import { maxBeyondBudget } from './answered.ts';
import type { Chance } from './seeded.ts';
import type { Witnessed } from './witness.ts';

const startOfNowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const endMs = Date.UTC(2024, 1, 16);
export const windowMs = 6 * hourMs;
export const rangeLimits = { candles: { h1: windowMs }, asset_history: { h1: windowMs } };
export const concurrency = 8;
/** For tests that kill processes: locks expire soon, but late enough for a busy machine to renew them. */
export const lockMs = 2000;

const series: readonly SeriesKey[] = [
  { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval: 'h1' },
  { dataset: 'asset_history', assetId: 'ethereum', interval: 'h1' },
];

export interface BackfillOptions extends PipelineOptions {
  readonly windows: number;
  readonly faults?: Partial<Faults>;
  /** Default: 0, the source has no limit. */
  readonly requestsPerMinute?: number;
  /** Where the test itself reads, if not through the pipeline's connections. */
  readonly beside?: Database;
}

export interface FaultyBackfill extends Witnessed {
  readonly clock: GivenTime;
  readonly simulator: RunningSimulator;
  readonly pipeline: Pipeline;
  readonly attempts: number;
  readonly worker: Partial<WorkerOptions> & { readonly settings: WorkerOptions['settings'] };
  readonly scheduler: PipelineScheduler;
  /** Windows of all series that are tracked so far. */
  windows(): number;
  /** Tracks further into the past, so that there is more work. */
  widen(windows: number): Promise<void>;
  /** Requests for windows as planned. An empty range at the edge of an answer may be requested separately. */
  requestsForWindows(): number;
  requestsMore(count: number): Promise<void>;
  requestsInAll(count: number): Promise<void>;
  /** A request for every window and at most `extra` others, never faster than the budget and a burst of `underWay`. */
  expectFewRequests(limits: { extra: number; underWay?: number }): void;
}

/** Without a worker yet. The default is one attempt, so that anything that counts as an attempt loses a window. */
export async function beginBackfill(kind: Kind, chance: Chance, options: BackfillOptions): Promise<FaultyBackfill> {
  const { windows, faults = {}, requestsPerMinute = 0, attempts = 1, beside } = options;
  const clock: GivenTime = { nowMs: startOfNowMs };
  const simulator = await simulate(clock, { seed: chance.seed, faults });
  const pipeline = await openPipeline(kind, clock, simulator.url, { ...options, attempts });
  const tracked = new Map<number, SeriesKey>();
  let startMs: EpochMs = endMs;

  async function widen(by: number): Promise<void> {
    startMs -= by * windowMs;
    for (const one of series) tracked.set(await pipeline.track(one, startMs, endMs), one);
  }
  await widen(windows);
  const range = (): Range => ({ startMs, endMs });
  const all = () => (series.length * (endMs - startMs)) / windowMs;
  const requestsInAll = (count: number) =>
    waitFor(`${count} requests`, () => simulator.requests().total >= count, { everyMs: 2 });

  return {
    clock,
    simulator,
    pipeline,
    attempts,
    tracked,
    range,
    widen,
    requestsInAll,
    database: beside ?? pipeline.database,
    worker: { settings: { concurrency, attempts, failedRetryMs, emptyConfirmMs, graceMs }, requestsPerMinute },
    scheduler: { rangeLimits, requestsPerMinute },
    nowMs: () => clock.nowMs,
    windows: all,
    requestsForWindows: () => simulator.requests().recent.filter((request) => !isOfPart(request)).length,
    requestsMore: (count) => requestsInAll(simulator.requests().total + count),
    expectFewRequests({ extra, underWay = concurrency }) {
      const requests = simulator.requests();
      expect(requests.total).toBeGreaterThanOrEqual(all());
      // An empty range at the edge of an answer is requested separately when no larger answer came before.
      const most = all() + extra + requests.recent.filter(isOfPart).length;
      expect(requests.total).toBeLessThanOrEqual(most);
      if (requestsPerMinute > 0) {
        const together = limiterFor(requestsPerMinute)?.max ?? 1;
        expect(maxBeyondBudget(requests, requestsPerMinute)).toBeLessThanOrEqual(underWay + together);
      }
    },
  };
}

type Requests = ReturnType<RunningSimulator['requests']>['recent'];

function isOfPart({ url }: Requests[number]): boolean {
  const { searchParams } = new URL(url, 'http://localhost');
  return Number(searchParams.get('end')) - Number(searchParams.get('start')) < windowMs;
}
