/**
 * The scheduler: keeps the queue topped up from what is missing, keeps the polls coming, the rollups true, and what is
 * tracked as the watch list says.
 *
 * Passes are jobs of the `planning` queue that come by the clock, so of several schedulers one takes each, and one
 * runs at a time. A pass lost with its process is found and run again after some twenty seconds. While a
 * source without a limit is read, the queue would run dry between two of them: then a pass that added something
 * asks for another one soon.
 */

import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { Range } from '../planning/ranges.ts';
import type { RereadSettings } from '../planning/reread.ts';
import type { RangeLimits } from '../planning/windows.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { done, type Outcome } from '../queue/outcome.ts';
import { extraTickId } from '../queue/planning.ts';
import type { Database } from '../store/database.ts';
import { applyRetention } from '../store/drop-old.ts';
import { pruneLedger } from '../store/ledger.ts';
import { forgetCovered } from '../store/pending.ts';
import type { ChunkDays } from '../store/retention.ts';
import { ratesEveryMs } from '../store/snapshots/lists.ts';
import { rereadAsSaid } from '../store/watch-list/settings.ts';
import { planTick, type Tick, type TickParts } from './plan-tick.ts';
import { keepRollups } from './rollup-keeper.ts';
import { keepWatchList } from './watch-keeper.ts';

export interface SchedulerOptions {
  readonly database: Database;
  readonly queues: QueueBackend;
  readonly requestsPerMinute: number;
  readonly settings: Config['scheduler'];
  readonly graceMs: number;
  /** How long rows of the ledger are kept; absent: for good. */
  readonly ledgerMs?: number | undefined;
  /** Days in a chunk, for the retentions that are on; absent: they are not applied. */
  readonly chunkDays?: ChunkDays | undefined;
  /** How often they are applied; absent: once a day. */
  readonly retainEveryMs?: number | undefined;
  /** Whether open candles are read again, and rates and lists polled; a bare backfill does neither. */
  readonly refresh: boolean;
  /** What is read again of what is covered; absent: two closed periods at each refresh, and nothing else. */
  readonly reread?: RereadSettings | undefined;
  /** Only these series; absent: all that are tracked. */
  readonly seriesIds?: readonly number[] | undefined;
  /** Of each of them only what lies within. A scheduler that is bounded so does not count as present for others. */
  readonly within?: ReadonlyMap<number, Range> | undefined;
  readonly rangeLimits?: RangeLimits | undefined;
  /** The watch list's file, applied whenever it changes; absent: none is looked for. Takes `chunkDays`. */
  readonly watchList?: string | undefined;
  /** How often to look whether rollups await a refresh; absent: every minute. */
  readonly rollupsEveryMs?: number | undefined;
  /** How long a pass stays locked by a scheduler that was killed; absent: ten seconds. */
  readonly lockMs?: number | undefined;
  /** Each pass runs within it. */
  readonly around?: ((pass: () => Promise<Tick>) => Promise<Tick>) | undefined;
  /** Hears of each pass as it ends. Nobody waits for it, and it must not throw. */
  readonly told?: ((pass: PassTold) => void) | undefined;
  readonly log: Logger;
  readonly now?: () => EpochMs;
}

export interface PassTold {
  readonly durationMs: number;
  /** Windows and pages that it added to the queue; null: it failed. */
  readonly added: number | null;
}

export interface RunningScheduler {
  close(): Promise<void>;
}

const extraTickMs = 200;
/** How often to see that the clock's jobs are there: a flushed Redis takes them along. */
const keepAliveMs = 5000;
const pruneEveryMs = 3_600_000;
const rollupsEveryMs = 60_000;
const dailyMs = 24 * 3_600_000;
const closingGraceMs = 5000;
/** A pass is short, so one lost with its process is soon taken up. */
const defaultLockMs = 10_000;

export async function startScheduler(options: SchedulerOptions): Promise<RunningScheduler> {
  const { queues, settings, log } = options;
  const now = options.now ?? Date.now;
  const around = options.around ?? ((pass) => pass());
  let ratesMs = settings.ratesMs;
  const parts: TickParts = {
    database: options.database,
    requests: queues.requests,
    requestsPerMinute: options.requestsPerMinute,
    backfillShare: settings.backfillShare,
    graceMs: options.graceMs,
    polls: options.refresh,
    openRefreshMs: options.refresh ? settings.refreshMs : null,
    seriesIds: options.seriesIds,
    within: options.within,
    rangeLimits: options.rangeLimits,
    rereadPeriods: options.reread?.periods,
    trailing: options.refresh ? options.reread : undefined,
  };
  const watch =
    options.watchList === undefined || options.chunkDays === undefined
      ? null
      : keepWatchList({
          database: options.database,
          file: options.watchList,
          chunkDays: options.chunkDays,
          log,
        });
  let cursor = 0;
  let troubled = false;

  /** What is read again is the watch list's to say, and may change at any time. */
  async function asSaid(parts: TickParts): Promise<TickParts> {
    if (!options.refresh || options.reread === undefined) return parts;
    const reread = await rereadAsSaid(options.database, options.reread);
    return { ...parts, rereadPeriods: reread.periods, trailing: reread };
  }

  async function tick(attempt: { id: string }): Promise<Outcome> {
    let added = 0;
    await watch?.look(now());
    const begun = performance.now();
    try {
      const pass = await around(async () => planTick(await asSaid(parts), now(), cursor));
      ({ added, cursor } = pass);
      options.told?.({ durationMs: performance.now() - begun, added });
      if (added > 0) log.debug(pass, 'planned');
      if (troubled) log.info('planning works again');
      troubled = false;
    } catch (error) {
      options.told?.({ durationMs: performance.now() - begun, added: null });
      // Nothing is lost with a pass: the next one plans from what is true then.
      if (!troubled)
        log.warn({ cause: error instanceof Error ? error.message : String(error) }, 'planning failed');
      troubled = true;
    }
    if (added === 0 || options.requestsPerMinute > 0) return done;
    if (attempt.id === extraTickId) return { kind: 'retry', inMs: extraTickMs, counted: false };
    await queues.planning.tickSoon(extraTickMs);
    return done;
  }

  async function keepAlive(): Promise<void> {
    await queues.planning.tickEvery(settings.tickMs);
    if (!options.refresh) return;
    ratesMs = await ratesEveryMs(options.database, settings.ratesMs).catch((error: unknown) => {
      // While the database is away, as before; that it is away the planning says.
      log.debug({ err: error }, 'how often rates are polled could not be read');
      return ratesMs;
    });
    await queues.requests.pollRatesEvery(ratesMs);
  }

  async function prune(): Promise<void> {
    await forgetCovered(options.database, now()).catch((error: unknown) => {
      log.warn({ err: error }, 'what no longer waits could not be removed');
    });
    if (options.ledgerMs === undefined) return;
    await pruneLedger(options.database, now() - options.ledgerMs).catch((error: unknown) => {
      log.warn({ err: error }, 'old rows of the ledger could not be removed');
    });
  }

  async function retain(): Promise<void> {
    if (options.chunkDays === undefined) return;
    try {
      const dropped = await applyRetention(options.database, { nowMs: now(), chunkDays: options.chunkDays });
      for (const { dataset, points, cutMs } of dropped) {
        if (points > 0) log.info({ dataset, points, before: new Date(cutMs) }, 'old points were dropped');
      }
    } catch (error) {
      log.warn({ err: error }, 'old points could not be dropped');
    }
  }

  const worker = queues.startPlanningWorker(tick, {
    concurrency: 1,
    limiter: null,
    lockMs: options.lockMs ?? defaultLockMs,
    isCounted: options.within === undefined,
  });
  await worker.ready();
  await keepAlive();
  // The queue says by itself when it is in trouble.
  const keeping = setInterval(() => void keepAlive().catch(() => {}), keepAliveMs);
  const pruning = setInterval(() => void prune(), pruneEveryMs);
  const retaining = setInterval(() => void retain(), options.retainEveryMs ?? dailyMs);
  await prune();
  await retain();
  const rollups = keepRollups({
    database: options.database,
    everyMs: options.rollupsEveryMs ?? rollupsEveryMs,
    log,
    now,
  });

  return Object.freeze({
    async close() {
      clearInterval(keeping);
      clearInterval(pruning);
      clearInterval(retaining);
      const rollupsClosed = rollups.close();
      await worker.close(closingGraceMs);
      // So that no worker polls for a scheduler that is gone. Another scheduler brings it back within seconds.
      if (options.refresh) await queues.requests.pollRatesEvery(0).catch(() => {});
      await rollupsClosed;
    },
  } satisfies RunningScheduler);
}
