/**
 * Planning passes in a separate process, so that its memory is theirs alone. It is started with `--expose-gc` and the
 * environment of a scheduler, and sends its measurements.
 */

import { pino } from 'pino';
import { systemClock } from '../../clock.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { longestRange } from '../../model/request-range.ts';
import { defaultSource } from '../../model/sources.ts';
import { freeSlots } from '../../planning/budget.ts';
import { planWindows } from '../../planning/plan.ts';
import { openQueueBackend } from '../../queue/backend.ts';
import { fewRangesPerSeries, type PassContext, runPass } from '../../scheduler/pass.ts';
import { readConfig } from '../../settings/config.ts';
import { openDatabase } from '../../store/db/database.ts';
import { countFetchesSince } from '../../store/ledger/ledger.ts';
import { seriesWithGaps } from '../../store/series/gaps.ts';
import { peakMemoryKib } from '../../test/parts/peak-memory.ts';
import type { Measured, Memory } from './measured.ts';

const passes = Number(process.argv[2]);
const { requestsPerMinute, ...config } = { ...readConfig(process.env), requestsPerMinute: 500 };
const database = openDatabase({
  url: config.database.url ?? '',
  applicationName: 'tidemark bench',
  maxConnections: config.database.connections,
  statementTimeoutMs: config.database.statementTimeoutMs,
});
const queues = await openQueueBackend({
  clock: systemClock,
  redisUrl: config.queue.redisUrl,
  databaseUrl: database.url,
  namespace: config.queue.namespace,
  attempts: config.worker.attempts,
  log: pino({ level: 'warn' }),
});
const rules = {
  backfillShare: config.scheduler.backfillShare,
  graceMs: config.worker.graceMs,
  openRefreshMs: config.scheduler.refreshMs,
};
const context: PassContext = {
  database,
  requests: queues.requests,
  source: { name: defaultSource, requestsPerMinute },
  rules,
};
const before = memory();
let cursor = 0;
let longestQueue = 0;

async function pass(): Promise<number> {
  const tick = await runPass(context, Date.now(), cursor);
  cursor = tick.cursor;
  longestQueue = Math.max(longestQueue, tick.queued);
  return tick.added;
}

/** Removes a second of budget from the queue, as if workers had completed it. */
async function takeOut(): Promise<void> {
  const { windows } = await queues.requests.claimedWindows();
  const ids = [...windows.keys()].slice(0, Math.ceil(requestsPerMinute / 60));
  for (const id of ids) await queues.requests.dropSeries(id);
}

/** Milliseconds of each of `passes` runs. */
async function timed(work: () => Promise<unknown>, between?: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < passes; run += 1) {
    await between?.();
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return times;
}

function memory(): Memory {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heapBytes: heapUsed, rssBytes: rss };
}

/** The pure part of a pass, on the current data of the database and the queue. */
async function purePart(): Promise<() => Promise<void>> {
  const nowMs: EpochMs = Date.now();
  const claimed = await queues.requests.claimedWindows();
  const series = await gapsAt(nowMs);
  const slots = freeSlots({
    requestsPerMinute,
    backfillShare: rules.backfillShare,
    queued: { refresh: 0, backfill: 0 },
    refreshesStarted: 0,
  });
  const { graceMs } = rules;
  const longestRangeMs = longestRange;
  return async () => {
    planWindows({
      source: defaultSource,
      series,
      claimed: claimed.windows,
      nowMs,
      graceMs,
      longestRangeMs,
      slots,
      cursor,
    });
  };
}

function gapsAt(nowMs: EpochMs) {
  const { graceMs, openRefreshMs } = rules;
  return seriesWithGaps(database, {
    nowMs,
    graceMs,
    openRefreshMs,
    rangesPerSeries: fewRangesPerSeries,
    first: { count: longestQueue, cursor },
  });
}

// Passes run until the queue is full, and then a few more, so that the measured ones are compiled.
while ((await pass()) > 0);
for (let run = 0; run < 10; run += 1) await pass();

const measured: Measured = {
  gapsRead: (await gapsAt(Date.now())).reduce((sum, series) => sum + series.gaps.length, 0),
  fullQueue: await timed(pass),
  topUp: await timed(pass, takeOut),
  readingQueue: await timed(() => queues.requests.claimedWindows()),
  readingGaps: await timed(() => gapsAt(Date.now())),
  readingLedger: await timed(() => countFetchesSince(database, Date.now() - 60_000)),
  planWindows: await timed(await purePart()),
  longestQueue,
  before,
  after: memory(),
  peakRssBytes: peakMemoryKib() * 1024,
};
process.send?.(measured);
await queues.close();
await database.close();
process.disconnect();
