/**
 * The scheduler: fills the queue from gaps and due polls, refreshes rollups, applies retention and the watch list.
 *
 * Planning passes are repeating jobs of the `planning` queue, so that any number of schedulers runs one at a time. A
 * pass lost with its process runs again after about twenty seconds. With a source without a limit the queue would run
 * empty between two passes: a pass that added jobs then requests another one soon.
 */

import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { defaultSource, type SourceFacts } from '../model/sources.ts';
import { budgetInForce, differingBudgets, lowerBudget } from '../planning/budget.ts';
import type { RereadSettings } from '../planning/reread.ts';
import { partsOfSource } from '../planning/source-share.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { done, type Outcome } from '../queue/jobs.ts';
import { extraTickId } from '../queue/planning.ts';
import type { Config } from '../settings/config.ts';
import { pollDefaultLists } from '../store/lists/lists.ts';
import { sourcesInUse } from '../store/series/sources.ts';
import { readRereadSettings } from '../store/settings/settings.ts';
import { readLoweredBudget } from '../store/settings/source-orders.ts';
import { watchedSources } from '../watch-list/source-facts.ts';
import { type Pass, runPass } from './pass.ts';
import type { FactsContext, PassRules, PlannedSource } from './read-facts.ts';
import { columnstoreTask, pruneTask, retentionTask, rollupsTask, settleTask, startTask, type Task } from './upkeep.ts';
import { keepWatchList } from './watch-list-keeper.ts';

export interface SchedulerOptions
  extends Pick<FactsContext, 'database' | 'seriesIds' | 'within'>,
    Pick<PassRules, 'graceMs'> {
  readonly queues: QueueBackend;
  /** By name. */
  readonly sources: ReadonlyMap<string, SourceFacts>;
  readonly settings: Config['scheduler'];
  /** Retention of the ledger; absent: forever. */
  readonly ledgerMs?: number | undefined;
  /** Interval of applying retention; absent: one day. */
  readonly retainEveryMs?: number | undefined;
  /** Whether to refresh open candles and poll lists. A backfill alone does neither. */
  readonly refresh: boolean;
  /** Rereads of covered ranges; absent: two closed periods at each refresh. */
  readonly reread?: RereadSettings | undefined;
  /** File of the watch list, applied whenever it changes; absent: none. */
  readonly watchList?: string | undefined;
  /** The sources by the file as it is now; absent: they never change. @throws TidemarkError BAD_WATCH_LIST */
  readonly readSources?: (() => Promise<SchedulerOptions['sources']>) | undefined;
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

type Counts = Pick<Pass, 'added' | 'queued'>;

/** A pass over all sources. */
export interface Tick extends Counts {
  /** Of the sources without a limit. */
  readonly unlimited: Counts;
}

export type RunningScheduler = Awaited<ReturnType<typeof startScheduler>>;

/**
 * Delay of an extra pass after one that added windows of a source without a limit: its queue may be empty before the
 * next pass.
 */
const extraTickMs = 200;
/**
 * Delays while only a few of its windows are queued, by passes in a row without a new one: a series may wait for its
 * oldest window.
 */
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
  let { sources } = options;
  const middleware = options.middleware ?? ((pass) => pass());
  const checkWatchList =
    options.watchList === undefined
      ? null
      : keepWatchList({
          ...{ database, file: options.watchList, readSources, log },
          countWorkers: () => queues.requests.countWorkers(),
        });
  const budgets = new Map<string, number>();
  const cursors = new Map<string, number>();
  const reportedUnknown = new Set<string>();
  let passesWithoutWindow = 0;
  let isFailing = false;
  let loggedBudgets: string | null = null;

  async function readSources() {
    sources = (await options.readSources?.()) ?? sources;
    return watchedSources(sources);
  }

  /** The series of each source, within its own budget. */
  async function planAll(): Promise<Tick> {
    const rules = await readRules(options);
    const names = await sourcesInUse(database);
    const all = { added: 0, queued: 0 };
    const unlimited = { added: 0, queued: 0 };
    // The default source gives the lists too.
    for (const name of new Set(rules.polls === true ? [defaultSource, ...names] : names)) {
      const source = sourceNamed(name);
      if (source === null) continue;
      const { seriesIds, within } = options;
      const pass = await runPass(
        {
          ...{ database, source, seriesIds, within, rules: { ...rules, polls: rules.polls && name === defaultSource } },
          requests: queues.requestsOf(name),
          pausedForMs: (other) => queues.requestsOf(other).pausedForMs(),
        },
        clock.now(),
        cursors.get(name) ?? 0,
      );
      cursors.set(name, pass.cursor);
      for (const counts of source.requestsPerMinute === 0 ? [all, unlimited] : [all]) {
        counts.added += pass.added;
        counts.queued += pass.queued;
      }
    }
    return { ...all, unlimited };
  }

  function sourceNamed(name: string): PlannedSource | null {
    const facts = sources.get(name);
    if (facts === undefined) {
      if (!reportedUnknown.has(name)) log.warn({ source: name }, 'series have a source that is not configured');
      reportedUnknown.add(name);
      return null;
    }
    return {
      ...partsOfSource(facts, sources),
      name,
      requestsPerMinute: budgets.get(name) ?? facts.requestsPerMinute,
      longLimit: facts.longLimit,
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
      if (!isFailing) log.warn({ cause: messageOf(error) }, 'planning failed');
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
    for (const name of new Set([defaultSource, ...cursors.keys()])) await readBudgets(name);
    if (!options.refresh) return;
    // A page that no worker takes would wait for ever.
    if (settings.pollsByDefault && (await queues.requests.countWorkers()) > 0) await pollDefaultLists(database);
  }

  /** Connected workers may have other budgets than this process, and a user may have lowered them. */
  async function readBudgets(name: string): Promise<void> {
    const own = sources.get(name);
    if (own === undefined) return;
    const present = await queues.connectedBudgets(name);
    budgets.set(name, lowerBudget(budgetInForce(own, present), await readLoweredBudget(database, name)));
    // The other sources have no variable that could differ.
    const differing = name === defaultSource ? differingBudgets(own, present) : null;
    if (differing !== null && differing !== loggedBudgets) log.warn(differing);
    if (name === defaultSource) loggedBudgets = differing;
  }

  const own = sources.get(defaultSource);
  const worker = queues.startPlanningWorker(tick, {
    concurrency: 1,
    limiter: null,
    lockMs: options.lockMs ?? defaultLockMs,
    isCounted: options.within === undefined,
    ...(own?.isBudgetStated === true ? { requestsPerMinute: own.requestsPerMinute } : {}),
  });
  await worker.ready();
  await queues.requests.endRepeatedPolls();
  await keepAlive();
  const tasks = [
    // The queue logs its own errors, and the planning pass those of the database.
    { everyMs: keepAliveMs, firstMs: keepAliveMs, run: () => keepAlive().catch(() => {}) },
    ...upkeepTasks(options, () => sources),
  ];
  // Not awaited: they may wait for a lock.
  const running = tasks.map((task) => startTask(clock, task));

  return Object.freeze({
    async close() {
      const ended = running.map((one) => one.close());
      await worker.close(closingGraceMs);
      await Promise.all(ended);
    },
  });
}

/** The watch list may change the rereads at any time. A scheduler that does not refresh rereads no recent days. */
async function readRules({ database, refresh, reread, settings, graceMs }: SchedulerOptions): Promise<PassRules> {
  const { backfillShare, refreshMs } = settings;
  const rules = { graceMs, backfillShare, polls: refresh, openRefreshMs: refresh ? refreshMs : null };
  if (reread === undefined) return rules;
  return { ...rules, reread: refresh ? await readRereadSettings(database, reread) : { ...reread, rangeMs: 0 } };
}

function upkeepTasks(options: SchedulerOptions, sources: () => SchedulerOptions['sources']): Task[] {
  const { columnstoreAfterDays: afterDays, ledgerMs } = options;
  const { database, log, clock } = options;
  const context = { database, log, clock };
  return [
    settleTask(context),
    pruneTask({ ...context, everyMs: pruneEveryMs, ledgerMs, sources }),
    retentionTask({ ...context, everyMs: options.retainEveryMs ?? dailyMs }),
    rollupsTask({ ...context, everyMs: options.rollupsEveryMs ?? rollupsEveryMs }),
    ...(afterDays === undefined
      ? []
      : [columnstoreTask({ ...context, everyMs: options.columnstoreEveryMs ?? columnstoreEveryMs, afterDays })]),
  ];
}
