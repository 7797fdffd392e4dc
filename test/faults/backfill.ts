/** A backfill of two series in many small windows, for faults to strike. */

import { expect } from 'vitest';
import { type EpochMs, hourMs } from '../../contract/intervals.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import type { SchedulerOptions } from '../../scheduler/scheduler.ts';
import type { Faults } from '../../simulator/faults.ts';
import type { RunningSimulator } from '../../simulator/start.ts';
import type { Database } from '../../store/database.ts';
import type { WorkerOptions } from '../../workers/worker.ts';
import { waitFor } from '../parts/wait-for.ts';
import {
  type Clock,
  emptyConfirmMs,
  failedRetryMs,
  graceMs,
  openPipeline,
  type Pipeline,
  type PipelineOptions,
  simulate,
} from '../pipeline/run-pipeline.ts';
import type { Kind } from '../queue/queue-parts.ts';
import { mostBeyondBudget } from './answered.ts';
import type { Chance } from './seeded.ts';
import type { Witnessed } from './witness.ts';

const startOfNowMs = Date.UTC(2024, 2, 1, 12, 0, 30);
const endMs = Date.UTC(2024, 1, 16);
export const windowMs = 6 * hourMs;
export const rangeLimits = { candles: { h1: windowMs }, asset_history: { h1: windowMs } };
/** Jobs of one worker under way at once. */
export const concurrency = 8;
/** Where a process dies: soon over, and long enough for a busy machine to renew it. */
export const lockMs = 2000;

const series: readonly SeriesKey[] = [
  { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval: 'h1' },
  { dataset: 'asset_history', assetId: 'ethereum', interval: 'h1' },
];

export interface BackfillOptions extends PipelineOptions {
  /** Windows of each series. */
  readonly windows: number;
  readonly faults?: Partial<Faults>;
  /** 0 unless given: the source has no limit. */
  readonly requestsPerMinute?: number;
  /** Where the test itself reads, when not through the pipeline's connections. */
  readonly beside?: Database;
}

export interface FaultyBackfill extends Witnessed {
  readonly clock: Clock;
  readonly simulator: RunningSimulator;
  readonly pipeline: Pipeline;
  readonly attempts: number;
  readonly worker: Partial<WorkerOptions> & { readonly settings: WorkerOptions['settings'] };
  readonly scheduler: Partial<SchedulerOptions>;
  /** Windows of all series that are tracked by now. */
  windows(): number;
  /** Tracks further into the past, so that there is more to do. */
  widen(windows: number): Promise<void>;
  /** Requests for a window as it was planned: a silence at the edge of an answer may be asked for again by itself. */
  requestsForWindows(): number;
  /** Waits until this many more requests have arrived. */
  requestsMore(count: number): Promise<void>;
  /** Waits until this many have arrived in all. */
  requestsInAll(count: number): Promise<void>;
  /**
   * Every window was asked for, and at most this many requests were made beside; never more at a time than the
   * budget allows and `underWay` lets arrive in a bunch.
   */
  expectFewRequests(limits: { extra: number; underWay?: number }): void;
}

/**
 * Tracks the series; nothing works on them yet. One attempt each unless given: what counts against a window loses it.
 */
export async function beginBackfill(
  kind: Kind,
  chance: Chance,
  options: BackfillOptions,
): Promise<FaultyBackfill> {
  const { windows, faults = {}, requestsPerMinute = 0, attempts = 1, beside } = options;
  const clock: Clock = { nowMs: startOfNowMs };
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
    waitFor(`${count} requests`, () => simulator.requests().total >= count, { everyMs: 2, withinMs: 60_000 });

  return {
    ...{ clock, simulator, pipeline, attempts, tracked, range, widen, requestsInAll },
    database: beside ?? pipeline.database,
    worker: {
      settings: { concurrency, attempts, failedRetryMs, emptyConfirmMs, graceMs },
      requestsPerMinute,
    },
    scheduler: { rangeLimits, requestsPerMinute },
    nowMs: () => clock.nowMs,
    windows: all,
    requestsForWindows: () => simulator.requests().recent.filter((request) => !isOfPart(request)).length,
    requestsMore: (count) => requestsInAll(simulator.requests().total + count),
    expectFewRequests({ extra, underWay = concurrency }) {
      const requests = simulator.requests();
      expect(requests.total).toBeGreaterThanOrEqual(all());
      // A silence at the edge of an answer is asked for again by itself, where no larger answer had come before.
      const most = all() + extra + requests.recent.filter(isOfPart).length;
      const why = () => `too many: ${JSON.stringify(askedAgain(requests.recent))}`;
      expect(requests.total, requests.total > most ? why() : '').toBeLessThanOrEqual(most);
      if (requestsPerMinute > 0) {
        expect(mostBeyondBudget(requests, requestsPerMinute)).toBeLessThanOrEqual(underWay + 1);
      }
    },
  };
}

type Requests = ReturnType<RunningSimulator['requests']>['recent'];

function isOfPart({ url }: Requests[number]): boolean {
  const { searchParams } = new URL(url, 'http://localhost');
  return Number(searchParams.get('end')) - Number(searchParams.get('start')) < windowMs;
}

/** What was asked for again although it had an answer without a fault, and all the answers to it. */
function askedAgain(recent: Requests): Record<string, string[]> {
  const answers = new Map<string, string[]>();
  for (const { url, status, fault } of recent) {
    answers.set(url, [...(answers.get(url) ?? []), `${status} ${fault ?? 'well'}`]);
  }
  const again = [...answers].filter(([, all]) => {
    const well = all.indexOf('200 well');
    return all.includes('null well') || (well !== -1 && well < all.length - 1);
  });
  return Object.fromEntries(again);
}
