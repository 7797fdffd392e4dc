/** (b) The budget: its used share and any excess, as the source sees them. */

import { setTimeout as delay } from 'node:timers/promises';
import { dayMs } from '../../model/intervals.ts';
import { table } from '../../scripts/output/table.ts';
import { marketPlans } from '../../simulator/catalogue.ts';
import { type RunningSimulator, startSimulator } from '../../simulator/start.ts';
import { openDatabase } from '../../store/db/database.ts';
import { countFetchesSince } from '../../store/ledger/ledger.ts';
import { trackSeries } from '../../store/series/series.ts';
import { requestsPerMinute } from '../../v2/limits.ts';
import type { BenchOptions, BenchResult } from '../bench.ts';
import { type BenchParts, environmentOf, type QueueKind, queueKinds, withDatabase } from '../parts.ts';
import { startProcesses } from '../processes.ts';
import { figure } from '../spread.ts';

const perMinute = requestsPerMinute.withKey;
const latencyMs = 150;
const workerCounts = [1, 2, 4];
const full = { seconds: 120 };
const quick = { seconds: 20 };
/** Markets tracked up to now, so that refreshes and backfill share the budget. */
const tracked = marketPlans.filter((plan) => plan.quoteId === 'tether').slice(0, 8);
/** More days than two minutes have requests, so that work never runs out. */
const trackedDays = 400;

interface Run {
  readonly queue: QueueKind;
  readonly workers: number;
  /** Requests in the measured time, which starts with the first request. */
  readonly requests: number;
  /** The share of the requests that the limit allows in that time. */
  readonly share: number;
  readonly largestRollingMinute: number;
  readonly refused: number;
  /** Requests with answers other than 200 and 429. */
  readonly failed: number;
  /** Windows that the ledger records as stored, and their points. */
  readonly stored: number;
  readonly points: number;
}

export async function benchBudget({ parts, isQuick, say }: BenchOptions): Promise<BenchResult> {
  const { seconds } = isQuick ? quick : full;
  const runs: Run[] = [];
  for (const queue of queueKinds(parts)) {
    for (const workers of workerCounts) {
      const run = await withDatabase(parts, (url) => measure({ parts, queue, workers, seconds, url }));
      say(
        `budget, ${run.queue}, ${run.workers} workers: share ${figure(run.share, 4)}, ` +
          `largest minute ${run.largestRollingMinute}, 429s ${run.refused}`,
      );
      runs.push(run);
    }
  }
  return { text: textOf(seconds, runs), result: { perMinute, latencyMs, seconds, runs } };
}

async function measure(input: {
  readonly parts: BenchParts;
  readonly queue: QueueKind;
  readonly workers: number;
  readonly seconds: number;
  readonly url: string;
}): Promise<Run> {
  const { parts, queue, workers, seconds, url } = input;
  const simulator = await startSimulator({ seed: 'bench', perMinute, faults: { latencyMs } });
  const database = openDatabase({
    url,
    applicationName: 'tidemark bench',
    maxConnections: 2,
    statementTimeoutMs: 60_000,
  });
  try {
    const startedMs = Date.now();
    for (const { exchangeId, baseId, quoteId } of tracked) {
      const series = { dataset: 'candles', exchange: exchangeId, baseId, quoteId, interval: 'm1' } as const;
      await trackSeries(database, series, startedMs - trackedDays * dayMs, null);
    }
    const commands = ['scheduler', ...Array.from({ length: workers }, () => 'worker')];
    const processes = startProcesses(commands, {
      ...environmentOf(parts, queue, url),
      SOURCE_URL: simulator.url,
      SOURCE_API_KEY: 'bench-key',
    });
    try {
      await untilMeasured(simulator, seconds, () => processes.assertRunning());
    } finally {
      await processes.stop();
    }
    const counts = simulator.requests();
    const firstMs = counts.recent[0]?.atMs ?? 0;
    const requests = counts.recent.filter(({ atMs }) => atMs < firstMs + seconds * 1000).length;
    const ledger = await countFetchesSince(database, startedMs);
    const stored = await database.pool.query<{ points: number }>(
      'select coalesce(sum(points), 0)::bigint as points from tidemark.series',
    );
    return {
      queue,
      workers,
      requests,
      share: requests / ((perMinute * seconds) / 60),
      largestRollingMinute: counts.largestRollingMinute,
      refused: counts.count429,
      failed: counts.total - counts.count429 - (counts.byStatus[200] ?? 0),
      stored: ledger.refresh + ledger.backfill,
      points: stored.rows[0]?.points ?? 0,
    };
  } finally {
    await database.close();
    await simulator.close();
  }
}

/** Waits until `seconds` after the first request. */
async function untilMeasured(simulator: RunningSimulator, seconds: number, assertRunning: () => void): Promise<void> {
  for (;;) {
    const firstMs = simulator.requests().recent[0]?.atMs;
    if (firstMs !== undefined && Date.now() >= firstMs + seconds * 1000) return;
    assertRunning();
    await delay(100);
  }
}

function textOf(seconds: number, runs: readonly Run[]): string {
  return [
    `(b) budget: ${perMinute} requests a minute allowed, ${latencyMs} ms latency, ${seconds} s from the first ` +
      'request on',
    table(
      [
        { title: 'queue', value: (run) => (run.queue === 'redis' ? 'Redis' : 'PostgreSQL') },
        { title: 'workers', value: (run) => figure(run.workers), right: true },
        { title: 'requests', value: (run) => figure(run.requests), right: true },
        { title: 'share used', value: (run) => figure(run.share, 3), right: true },
        { title: 'largest minute', value: (run) => figure(run.largestRollingMinute), right: true },
        { title: '429', value: (run) => figure(run.refused), right: true },
        { title: 'other failures', value: (run) => figure(run.failed), right: true },
        { title: 'windows in ledger', value: (run) => figure(run.stored), right: true },
        { title: 'points stored', value: (run) => figure(run.points), right: true },
      ],
      runs,
    ),
  ].join('\n');
}
