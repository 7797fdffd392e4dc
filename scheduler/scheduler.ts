/**
 * The scheduler: fills the queue from gaps and due polls, refreshes rollups, applies retention and the watch list.
 *
 * Planning passes are repeating jobs of the `planning` queue, so that any number of schedulers runs one at a time. A pass
 * lost with its process runs again after about twenty seconds. With a source without a limit the queue would run empty
 * between two passes: a pass that added jobs then requests another one soon.
 */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Range } from '../model/ranges.ts';
import type { SourceFacts } from '../model/sources.ts';
import { budgetInForce, differingBudgets, lowestBudget } from '../planning/budget.ts';
import type { RereadSettings } from '../planning/reread.ts';
import { partsOfSource } from '../planning/source-share.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { done, type Outcome } from '../queue/jobs.ts';
import { extraTickId } from '../queue/planning.ts';
import type { Config } from '../settings/config.ts';
import { deleteDueRereads } from '../store/commit/deferred-windows.ts';
import { pruneLedger } from '../store/ledger/ledger.ts';
import { ratesEveryMs } from '../store/lists/lists.ts';
import { sourcesInUse } from '../store/series/sources.ts';
import { readRereadSettings } from '../store/settings/settings.ts';
import { applyRetention } from '../store/upkeep/drop-old.ts';
import type { ChunkDays } from '../store/upkeep/retention.ts';
import { watchedSources } from '../watch-list/source-facts.ts';
import { planTick, type Tick as SourceTick, type TickParts } from './plan-tick.ts';
import { keepColumnstore, keepRollups } from './upkeep.ts';
import { keepWatchList } from './watch-list-keeper.ts';

export interface SchedulerOptions
  extends Pick<TickParts, 'database' | 'requestsPerMinute' | 'graceMs' | 'seriesIds' | 'rangeLimits'> {
  readonly queues: QueueBackend;
  /** Sources beside the default one, by name; absent: none. */
  readonly sources?: ReadonlyMap<string, SourceFacts> | undefined;
  /** Whether this process could ask the default source. If not, a connected worker may. Default true. */
  readonly isDefaultConfigured?: boolean;
  /** False: the budget of connected workers applies instead. Default true. */
  readonly isBudgetStated?: boolean;
  readonly settings: Config['scheduler'];
  /** Retention of the ledger; absent: forever. */
  readonly ledgerMs?: number | undefined;
  /** Days in a chunk, for retention; absent: retention is not applied. */
  readonly chunkDays?: ChunkDays | undefined;
  /** Interval of applying retention; absent: one day. */
  readonly retainEveryMs?: number | undefined;
  /** Whether to refresh open candles and poll lists. A backfill alone does neither. */
  readonly refresh: boolean;
  /** Rereads of covered ranges; absent: two closed periods at each refresh. */
  readonly reread?: RereadSettings | undefined;
  /** Range of each series to plan. Such a scheduler does not count as connected for others. */
  readonly within?: ReadonlyMap<number, Range> | undefined;
  /** File of the watch list, applied whenever it changes; absent: none. Needs `chunkDays`. */
  readonly watchList?: string | undefined;
  /** Interval of checking rollups; absent: one minute. */
  readonly rollupsEveryMs?: number | undefined;
  /** Age at which the scheduler moves chunks in place of a failing policy; absent: it does not. */
  readonly columnstoreAfterDays?: number | undefined;
  /** Interval of checking for such chunks; absent: one hour. */
  readonly columnstoreEveryMs?: number | undefined;
  /** How long the pass of a killed scheduler stays locked; absent: ten seconds. */
  readonly lockMs?: number | undefined;
  /** Wraps each pass. */
  readonly middleware?: ((pass: () => Promise<Tick>) => Promise<Tick>) | undefined;
  /** Called after each pass. It is not awaited, and must not throw. */
  readonly events?: ((pass: PassEvents) => void) | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

export interface PassEvents {
  readonly durationMs: number;
  /** Added windows and pages; null: the pass failed. */
  readonly added: number | null;
}

type Counts = Pick<SourceTick, 'added' | 'queued'>;

/** A pass over all sources. */
export interface Tick extends Counts {
  /** Of the sources without a limit. */
  readonly unlimited: Counts;
}

export type RunningScheduler = Awaited<ReturnType<typeof startScheduler>>;

/** Delay of an extra pass after one that added windows of a source without a limit: its queue may be empty before the next pass. */
const extraTickMs = 200;
/** Delays while only a few of its windows are queued, by passes in a row without a new one: a series may wait for its oldest window. */
const extraTicksOfFewMs = [50, 100, 200];
const fewWindows = 32;
/** Interval of restoring repeating jobs, which a flushed Redis loses. */
const keepAliveMs = 5000;
const pruneEveryMs = 3_600_000;
const rollupsEveryMs = 60_000;
const columnstoreEveryMs = 3_600_000;
const dailyMs = 24 * 3_600_000;
const closingGraceMs = 5000;
/** A pass is short, so a lost one is soon found. */
const defaultLockMs = 10_000;

/** @returns null: the next pass is soon enough. */
function extraTickIn({ added, queued }: Counts, passesWithoutWindow: number): number | null {
  if (queued > 0 && queued < fewWindows) return extraTicksOfFewMs[passesWithoutWindow] ?? null;
  return added > 0 ? extraTickMs : null;
}

export async function startScheduler(options: SchedulerOptions) {
  const { clock, database, queues, settings, log } = options;
  const middleware = options.middleware ?? ((pass) => pass());
  const { isBudgetStated = true, isDefaultConfigured = true } = options;
  const own = { requestsPerMinute: options.requestsPerMinute, isBudgetStated };
  let { requestsPerMinute } = own;
  let ratesMs = settings.ratesMs;
  const parts: TickParts = {
    ...options,
    requests: queues.requests,
    backfillShare: settings.backfillShare,
    polls: options.refresh,
    openRefreshMs: options.refresh ? settings.refreshMs : null,
    rereadPeriods: options.reread?.periods,
    trailing: options.refresh ? options.reread : undefined,
  };
  const checkWatchList =
    options.watchList === undefined || options.chunkDays === undefined
      ? null
      : keepWatchList({
          database,
          file: options.watchList,
          chunkDays: options.chunkDays,
          sources: watchedSources(options.sources ?? new Map()),
          log,
        });
  const { sources = new Map<string, SourceFacts>() } = options;
  const budgets = new Map<string, number>();
  const cursors = new Map<string | null, number>();
  const reportedUnknown = new Set<string>();
  let passesWithoutWindow = 0;
  let isFailing = false;
  let loggedBudgets: string | null = null;

  /** The watch list may change the rereads at any time. */
  async function withOverrides(parts: TickParts): Promise<TickParts> {
    if (!options.refresh || options.reread === undefined) return parts;
    const reread = await readRereadSettings(database, options.reread);
    return { ...parts, rereadPeriods: reread.periods, trailing: reread };
  }

  /** The series of each source, within its own budget. */
  async function planAll(): Promise<Tick> {
    const shared = await withOverrides({ ...parts, requestsPerMinute });
    const named = (await sourcesInUse(database)).filter((source) => source !== null);
    const all = { added: 0, queued: 0 };
    const unlimited = { added: 0, queued: 0 };
    for (const source of [null, ...named]) {
      const partsOf = source === null ? shared : namedParts(source, shared);
      if (partsOf === null) continue;
      const pass = await planTick(partsOf, clock.now(), cursors.get(source) ?? 0);
      cursors.set(source, pass.cursor);
      for (const counts of partsOf.requestsPerMinute === 0 ? [all, unlimited] : [all]) {
        counts.added += pass.added;
        counts.queued += pass.queued;
      }
    }
    return { ...all, unlimited };
  }

  function namedParts(source: string, shared: TickParts): TickParts | null {
    const settings = sources.get(source);
    if (settings === undefined) {
      if (!reportedUnknown.has(source)) log.warn({ source }, 'series have a source that is not configured');
      reportedUnknown.add(source);
      return null;
    }
    return {
      ...shared,
      requests: queues.requestsOf(source),
      requestsPerMinute: budgets.get(source) ?? settings.requestsPerMinute,
      longLimit: settings.longLimit,
      ...partsOfSource(source, settings, sources),
      pausedForMs: (name) => queues.requestsOf(name).pausedForMs(),
      polls: false,
    };
  }

  async function tick(attempt: { id: string }): Promise<Outcome> {
    let unlimited: Counts = { added: 0, queued: 0 };
    await checkWatchList?.(clock.now());
    const begun = clock.monotonicMs();
    try {
      const pass = await middleware(() => planAll());
      ({ unlimited } = pass);
      options.events?.({ durationMs: clock.monotonicMs() - begun, added: pass.added });
      if (pass.added > 0) log.debug(pass, 'planned');
      if (isFailing) log.info('planning works again');
      isFailing = false;
    } catch (error) {
      options.events?.({ durationMs: clock.monotonicMs() - begun, added: null });
      // A failed pass loses nothing: the next one plans from the current state.
      if (!isFailing) log.warn({ cause: error instanceof Error ? error.message : String(error) }, 'planning failed');
      isFailing = true;
    }
    passesWithoutWindow = unlimited.added > 0 ? 0 : passesWithoutWindow + 1;
    const inMs = extraTickIn(unlimited, passesWithoutWindow);
    if (inMs === null) return done;
    if (attempt.id === extraTickId) return { kind: 'retry', inMs, counted: false };
    await queues.planning.tickSoon(inMs);
    return done;
  }

  async function keepAlive(): Promise<void> {
    await queues.planning.tickEvery(settings.tickMs);
    const present = await queues.connectedBudgets();
    requestsPerMinute = budgetInForce(own, present);
    for (const source of cursors.keys()) {
      const ownBudget = source === null ? undefined : sources.get(source)?.requestsPerMinute;
      if (source === null || ownBudget === undefined) continue;
      budgets.set(source, lowestBudget([ownBudget, ...(await queues.connectedBudgets(source))]));
    }
    const differing = differingBudgets(own, present);
    if (differing !== null && differing !== loggedBudgets) log.warn(differing);
    loggedBudgets = differing;
    if (!options.refresh) return;
    ratesMs = await ratesEveryMs(database, settings.ratesMs).catch((error: unknown) => {
      // The planning pass logs the outage. Until it ends the last interval applies.
      log.debug({ err: error }, 'the polling interval of the rates could not be read');
      return ratesMs;
    });
    // A job that no worker takes would wait for ever.
    const isPolled = isDefaultConfigured || (await queues.requests.countWorkers()) > 0;
    await queues.requests.pollRatesEvery(isPolled ? ratesMs : 0);
  }

  async function prune(): Promise<void> {
    const warn = (message: string) => (error: unknown) => log.warn({ err: error }, message);
    await deleteDueRereads(database, clock.now()).catch(warn('deferred rereads could not be deleted'));
    if (options.ledgerMs === undefined) return;
    const { ledgerMs } = options;
    await pruneFor(ledgerMs).catch(warn('old rows of the ledger could not be removed'));
  }

  /** The use of a long limit is known from the ledger: its period is kept as well. */
  async function pruneFor(ledgerMs: number): Promise<void> {
    const used = await sourcesInUse(database);
    const periodsMs = used.map((source) => sources.get(source ?? '')?.longLimit?.periodMs ?? 0);
    await pruneLedger(database, clock.now() - Math.max(ledgerMs, ...periodsMs));
  }

  async function retain(signal: AbortSignal): Promise<void> {
    if (options.chunkDays === undefined) return;
    let isBusy = false;
    try {
      const dropped = await applyRetention(database, {
        clock,
        nowMs: clock.now(),
        chunkDays: options.chunkDays,
        signal,
        onBusy(dataset) {
          if (!isBusy) log.warn({ dataset }, 'old points wait for a lock of another session');
          isBusy = true;
        },
      });
      for (const { dataset, points, cutMs } of dropped) {
        if (points > 0) log.info({ dataset, points, before: new Date(cutMs) }, 'old points were dropped');
      }
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'old points could not be dropped');
    }
  }

  const worker = queues.startPlanningWorker(tick, {
    concurrency: 1,
    limiter: null,
    lockMs: options.lockMs ?? defaultLockMs,
    isCounted: options.within === undefined,
    ...(isBudgetStated ? { requestsPerMinute: options.requestsPerMinute } : {}),
  });
  await worker.ready();
  await keepAlive();
  const backgroundTasks = [
    // The queue logs its own errors.
    clock.repeat(keepAliveMs, () => keepAlive().catch(() => {}), keepAliveMs),
    // Not awaited at start: they may wait for a lock.
    clock.repeat(pruneEveryMs, prune),
    clock.repeat(options.retainEveryMs ?? dailyMs, retain),
    keepRollups({ database, everyMs: options.rollupsEveryMs ?? rollupsEveryMs, log, clock }),
  ];
  const { columnstoreAfterDays: afterDays } = options;
  if (afterDays !== undefined) {
    const everyMs = options.columnstoreEveryMs ?? columnstoreEveryMs;
    backgroundTasks.push(keepColumnstore({ database, afterDays, everyMs, log, clock }));
  }

  return Object.freeze({
    async close() {
      const ended = backgroundTasks.map((one) => one.close());
      await worker.close(closingGraceMs);
      // Workers must not poll without a scheduler. Another scheduler restores the job within seconds.
      if (options.refresh) await queues.requests.pollRatesEvery(0).catch(() => {});
      await Promise.all(ended);
    },
  });
}
