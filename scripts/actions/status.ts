/** `tidemark status`: tracked, covered and missing ranges, budget and queue. */

import { join } from 'node:path';
import { settledWithin, systemClock } from '../../clock.ts';
import { badArgument, exitCodes, TidemarkError } from '../../errors.ts';
import { budgetText, counted, formatCount, formatDuration, formatTime, isoTime, nonEmpty } from '../../model/format.ts';
import { hourMs, minuteMs } from '../../model/intervals.ts';
import { laneNames } from '../../model/lanes.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { storedWords } from '../../model/stored-datasets.ts';
import { parseDuration } from '../../model/time-text.ts';
import { askQueues, queueAwayOr, withQueues } from '../../operations/context.ts';
import { isUnreachable } from '../../operations/poll-until.ts';
import { heldText, loweredJson, outageJson, pauseJson, withRetry } from '../../operations/source-health.ts';
import { joinQueues } from '../../operations/sources/queues.ts';
import { readSources, type SourceState } from '../../operations/sources/state.ts';
import { awayHeadline, extentOfTracked, readStoredFacts } from '../../operations/status/facts.ts';
import { readQueueFacts } from '../../operations/status/queue-facts.ts';
import {
  budgetInForce,
  differingBudgets,
  type LoweredBudget,
  lowerBudget,
  loweredInForce,
  loweredText,
} from '../../planning/budget.ts';
import type { Headline, State } from '../../planning/conditions.ts';
import { type SourceQueue, type StateFacts, sinceText, stateOf } from '../../planning/headline.ts';
import { pausesOf, pausesText, progressText } from '../../planning/progress.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { type Context, configFromEnvironment, withContext } from '../../runtime/context.ts';
import { explainDatabaseError } from '../../store/db/failure.ts';
import { countFetchesSince, readServiceMessage } from '../../store/ledger/ledger.ts';
import { readSourceOutage } from '../../store/ledger/source-outage.ts';
import { listStatus } from '../../store/lists/lists.ts';
import { readSilences } from '../../store/series/silences.ts';
import { sourcesInUse } from '../../store/series/sources.ts';
import { readLoweredBudget, readLoweredBudgets } from '../../store/settings/source-orders.ts';
import { readRefusedUntil } from '../../store/settings/source-refusal.ts';
import { ratesStatus, seriesStatus, serverVersions } from '../../store/status/status.ts';
import { readUpkeep, type Upkeep } from '../../store/upkeep/jobs.ts';
import { listRetentions, type Retention } from '../../store/upkeep/retention.ts';
import type { JsonDocument } from '../output/documents.ts';
import { listsTable, seriesOverview, seriesTable } from '../output/status-tables.ts';
import { printText, terminalWidth } from '../output/table.ts';
import { terminalOf } from '../output/terminal.ts';
import { drawnScreen, jsonScreen, printedScreen, watch } from '../output/watch.ts';

export interface StatusOptions {
  readonly json?: true;
  readonly all?: true;
  readonly check?: true | 'worker' | 'scheduler';
  readonly watch?: true;
  readonly every?: string;
}

export async function run(options: StatusOptions): Promise<void> {
  if (options.watch) {
    if (options.check !== undefined) throw badArgument('--watch and --check exclude each other');
    return showAgain(options, everyOf(options.every));
  }
  if (options.every !== undefined) throw badArgument('--every goes with --watch');
  const { check: part } = options;
  if (part !== undefined) return withContext(contextOptions, (opened) => check(opened, part));
  let queueProblem: TidemarkError | null;
  try {
    queueProblem = await withContext(contextOptions, async (opened) => {
      const read = async (queues: QueueBackend | TidemarkError) => gather(opened, queues, opened.clock.now());
      const found = await askQueues(opened, read, read);
      if (options.json) console.log(JSON.stringify(asJson(found), null, 2));
      else printText(asText(found, options.all === true));
      return found.queueProblem;
    });
  } catch (thrown) {
    const error = explainDatabaseError(thrown);
    if (!isUnreachable(error)) throw error;
    // The headline is known when nothing else can be read.
    if (options.json) console.log(JSON.stringify(awayDocument(error), null, 2));
    else printText(awayHeadline(error).text);
    throw error;
  }
  if (queueProblem !== null) throw queueProblem;
}

const contextOptions = { command: 'status', needsDatabase: true, showsStored: true } as const;

/** Time between two tables on a terminal, or two documents; and between two tables of a log. */
const watchEveryMs = 2000;
const logEveryMs = 30_000;

/** `status --watch`, until Ctrl-C or the end of the output pipe. */
async function showAgain({ json, all }: StatusOptions, givenEveryMs: number | null): Promise<void> {
  const terminal = json ? null : terminalOf(process.stdout);
  const everyMs = givenEveryMs ?? (json || terminal !== null ? watchEveryMs : logEveryMs);
  const textOf = (status: Status) => asText(status, all === true);
  const screen = json
    ? jsonScreen(asJson, awayDocument)
    : terminal === null
      ? printedScreen(textOf)
      : drawnScreen(terminal, everyMs, textOf);
  const unread = new AbortController();
  const leave = () => unread.abort();
  process.stdout.on('error', leave);
  const config = configFromEnvironment();
  // Log lines would break the drawing.
  const isDrawnOnLog = terminal !== null && process.stderr.isTTY;
  const options = {
    ...contextOptions,
    handlesSignals: true,
    config: isDrawnOnLog ? { ...config, logLevel: 'silent' as const } : config,
  };
  try {
    await withContext(options, async (context, stopSignal) => {
      let queues: QueueBackend | undefined;
      let awaited: AwaitedQueue | null = null;
      const close = async () => {
        const lost = queues;
        queues = undefined;
        await lost?.close();
      };
      const read = async () => {
        try {
          const opened = queues ?? (await context.openQueues().catch(queueAwayOr));
          queues = opened instanceof TidemarkError ? undefined : opened;
          const status = await gather(context, opened, context.clock.now(), awaited);
          const { queueProblem } = status;
          awaited = { problem: queueProblem, limitMs: queueProblem === null ? watchTimeoutMs : awayTimeoutMs };
          return status;
        } catch (error) {
          // A new connection shows whether the server is there.
          void close().catch(() => {});
          throw error;
        } finally {
          context.phase(null);
        }
      };
      await watch(screen, read, everyMs, AbortSignal.any([stopSignal, unread.signal]));
      await close();
      if (stopSignal.aborted) process.exitCode = exitCodes.interrupted;
    });
  } finally {
    process.stdout.off('error', leave);
  }
}

function awayDocument(error: TidemarkError): JsonDocument<'status'> {
  const time = new Date(systemClock.now()).toISOString();
  return { time, headline: awayHeadline(error), error: errorJson(error) };
}

const errorJson = ({ code, message }: TidemarkError) => ({ code, message });

const longestEveryMs = hourMs;

/** @throws TidemarkError BAD_ARGUMENT */
function everyOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const ms = parseDuration(text.trim());
  if (ms !== null && ms >= 1000 && ms <= longestEveryMs) return ms;
  throw badArgument(`--every ${JSON.stringify(text)} is not a length from 1s to 1h, such as 2s or 5m`);
}

/** @throws TidemarkError unless database and queue answer and the part is connected to its queue. */
async function check(context: Context, part: true | 'worker' | 'scheduler'): Promise<void> {
  await withQueues(context, async (queues) => {
    await queues.requests.depth();
    if (part === true) return;
    const requests = joinQueues(queues, [...new Set([defaultSource, ...(await sourcesInUse(context.database))])]);
    const present = await (part === 'worker' ? requests : queues.planning).countWorkers();
    if (present === 0) throw new TidemarkError('NOT_RUNNING', `no ${part} is connected to the queue`);
  });
}

type Status = Awaited<ReturnType<typeof gather>>;

/** @param queues the error where the queue does not answer: the rest is returned without it. */
async function gather(
  context: Context,
  queues: QueueBackend | TidemarkError,
  nowMs: number,
  awaited: AwaitedQueue | null = null,
) {
  const { config, database } = context;
  const { facts, url } = (await context.sources()).get(defaultSource);
  context.phase('reading the database and the queue');
  const inUse = await sourcesInUse(database);
  const [
    series,
    silences,
    lists,
    rates,
    retentions,
    requests,
    serviceMessage,
    versions,
    upkeep,
    outage,
    stored,
    queueState,
  ] = await Promise.all([
    seriesStatus(database, { nowMs, graceMs: config.worker.graceMs }),
    readSilences(database),
    listStatus(database, nowMs),
    ratesStatus.one(database.pool, {}),
    listRetentions(database, nowMs),
    countFetchesSince(database, nowMs - minuteMs, defaultSource),
    readServiceMessage(database, nowMs),
    serverVersions.one(database.pool, {}),
    readUpkeep(database, { nowMs, afterDays: config.storage.columnstoreAfterDays }),
    readSourceOutage(database, nowMs),
    readStoredFacts(context, nowMs),
    queues instanceof TidemarkError
      ? queues
      : readQueueState(context, queues, inUse, awaited?.limitMs ?? queueTimeoutMs).catch((error: unknown) => {
          const away = queueAwayOr(error);
          return awaited?.problem ?? away;
        }),
  ]);
  const isAway = queueState instanceof TidemarkError;
  const { backend, workers, pausedMs, budgets, queueFacts, depth } = isAway
    ? {
        ...{ backend: null, workers: 0, pausedMs: 0, budgets: [], depth: null },
        queueFacts: { away: queueState.message },
      }
    : queueState;
  const tracked = await extentOfTracked(context, series, nowMs);
  const lowered = await readLoweredBudget(database, defaultSource);
  const ownPerMinute = budgetInForce(facts, budgets);
  const perMinute = lowerBudget(ownPerMinute, lowered);
  return {
    nowMs,
    state: stateOf({ ...stored, nowMs, tracked, queue: queueFacts }),
    series,
    rejected: stored.rejected,
    silences,
    lists,
    rates: { ...rates, everyMs: lists.find(({ list }) => list.dataset === 'rates')?.everyMs ?? 0 },
    retentions,
    versions,
    upkeep,
    outage:
      outage === null
        ? null
        : withRetry(
            outage,
            'away' in queueFacts ? null : (queueFacts.sources.find(({ source }) => source === outage.source) ?? null),
            await readRefusedUntil(database, outage.source, nowMs),
            nowMs,
          ),
    sources: sourcesJson(stored.sources, 'away' in queueFacts ? [] : queueFacts.sources, nowMs),
    embedded: context.embedded,
    urlFile: context.embedded ? join(config.directory, 'url') : null,
    source: url,
    usesDefault:
      url !== null ||
      inUse.includes(defaultSource) ||
      inUse.length === 0 ||
      lists.length > 0 ||
      rates.newestMs !== null,
    named: inUse.some((source) => source !== defaultSource)
      ? (await readSources(context, nowMs)).filter(({ source, series }) => source !== defaultSource && series > 0)
      : [],
    serviceMessage,
    budget: {
      perMinute,
      lowered: loweredInForce(ownPerMinute, lowered),
      lastMinute: Object.values(requests).reduce((sum, lane) => sum + lane, 0),
      ...requests,
    },
    differing: differingBudgets(facts, budgets),
    /** Null: it does not answer, and `queueProblem` says why. */
    queue: depth === null || backend === null ? null : { backend, ...depth, workers, pausedMs },
    /** Which source is paused for how long; empty: none is. */
    pauses: 'away' in queueFacts ? '' : pausesText(pausesOf(queueFacts.sources, inUse)),
    queueProblem: isAway ? queueState : null,
  };
}

/** @param queues none: the queue does not answer. */
function sourcesJson(
  sources: StateFacts['sources'],
  queues: readonly SourceQueue[],
  nowMs: number,
): Extract<JsonDocument<'status'>, { sources: unknown }>['sources'] {
  return sources.map(({ source, lastMinute, outage, pause, refusedUntilMs }) => {
    const queue = queues.find((one) => one.source === source) ?? null;
    return {
      ...{ name: source, lastMinute },
      outage: outageJson(outage && withRetry(outage, queue, refusedUntilMs, nowMs)),
      paused: pauseJson(pause),
      requestsPerMinute: queue?.perMinute ?? null,
      lowered: loweredJson(queue?.lowered ?? null),
      workers: queue?.workers ?? null,
      pausedMs: queue?.pausedMs ?? null,
    };
  });
}

/** A connection to a host that is gone stays silent. */
const queueTimeoutMs = 15_000;
/** The same for `--watch`, and while the queue is away. */
const watchTimeoutMs = 5000;
const awayTimeoutMs = 1000;

interface AwaitedQueue {
  readonly limitMs: number;
  /** Why it did not answer the last time; null: it did. */
  readonly problem: TidemarkError | null;
}

/** @throws TidemarkError QUEUE_UNREACHABLE, after `limitMs` at the latest. */
async function readQueueState(context: Context, queues: QueueBackend, inUse: readonly string[], limitMs: number) {
  const joined = joinQueues(queues, [...new Set([defaultSource, ...inUse])]);
  const state = await settledWithin(
    context.clock,
    limitMs,
    Promise.all([
      readLoweredBudgets(context.database).then((lowered) => readQueueFacts(context, queues, inUse, lowered)),
      joined.depth(),
      queues.requests.pausedForMs(),
      joined.countWorkers(),
      queues.connectedBudgets(defaultSource),
    ]),
  );
  if (state === 'late')
    throw new TidemarkError('QUEUE_UNREACHABLE', `the queue has not answered for ${formatDuration(limitMs)}`);
  const [queueFacts, depth, pausedMs, workers, budgets] = state;
  return { backend: queues.kind, queueFacts, depth, pausedMs, workers, budgets };
}

function asText(status: Status, showsAll: boolean): string {
  const { versions, queue, budget, serviceMessage: message } = status;
  const store = versions.timescale === null ? 'plain tables' : `TimescaleDB ${versions.timescale}`;
  const embedded = status.urlFile === null ? '' : `, embedded, its URL in ${status.urlFile}`;
  const lanes = laneNames.filter((lane) => budget[lane] > 0).map((lane) => `${formatCount(budget[lane])} ${lane}`);
  const ofLanes = lanes.length > 1 ? ` (${lanes.join(', ')})` : '';
  const paused = status.pauses === '' ? '' : `, ${status.pauses}`;
  return [
    ...nonEmpty([
      headlineLine(status.state.headline),
      ...status.state.also.map((condition) => `also: ${headlineLine(condition)}`),
      backfillLine(status.state),
      `database: PostgreSQL ${versions.postgres}, ${store}${embedded}`,
      status.usesDefault ? `source: ${status.source ?? 'not set (SOURCE_URL)'}` : '',
      message === null
        ? ''
        : `the source answers with a service message, ${formatTime(message.timeMs)}: ${message.message}`,
      ...status.named.map((line) => namedLine(line, status.nowMs)),
      ...upkeepLines(status.upkeep),
      status.usesDefault ? `budget: ${budgetText(budget)}${loweredSuffix(budget.lowered)}${ofLanes}` : '',
      status.differing ?? '',
      status.rejected.rows === 0 ? '' : rejectedLine(status.rejected),
      silenceLine(status),
      queue === null
        ? ''
        : `queue (${queue.backend}): ${queue.waiting} queued, ${queue.active} active, ${queue.delayed} delayed; ` +
          `workers: ${queue.workers}${paused}`,
      status.retentions.length === 0 ? '' : `retention: ${status.retentions.map(retentionText).join(', ')}`,
    ]),
    '',
    ...(status.lists.length === 0 ? [] : [listsTable(status.lists, status.nowMs, terminalWidth()), '']),
    (showsAll ? seriesTable : seriesOverview)(status.series, status.nowMs, terminalWidth()),
  ].join('\n');
}

function backfillLine(state: State): string {
  const rest = state.left === 0 ? state.waiting : progressText(state);
  return rest === null ? '' : `backfill: ${rest}`;
}

function headlineLine({ text, command }: Headline): string {
  return command === null || command === 'tidemark status' ? text : `${text} (${command})`;
}

const loweredSuffix = (lowered: LoweredBudget | null) => (lowered === null ? '' : `, ${loweredText(lowered)}`);

function namedLine(
  { source, series, lastMinute, requestsPerMinute, lowered, pause, outage, ...held }: SourceState,
  nowMs: number,
): string {
  const used = `${budgetText({ lastMinute, perMinute: requestsPerMinute })}${loweredSuffix(lowered)}`;
  const state = pause !== null ? sinceText(pause) : (outage?.kind ?? heldText(held, nowMs));
  return `source ${source}: ${formatCount(series)} series, ${used}${state === null ? '' : `, ${state}`}`;
}

/** Such as of a name that was used again for another coin. */
function silenceLine({ silences, series }: Pick<Status, 'silences' | 'series'>): string {
  const [longest] = silences;
  const of = series.find(({ seriesId }) => seriesId === longest?.seriesId);
  return longest === undefined || of === undefined
    ? ''
    : `silences: ${formatCount(silences.length)} of far longer than usual, the longest of ${seriesName(of.series)}: ` +
        `${formatTime(longest.startMs)} to ${formatTime(longest.endMs)} (select * from silences)`;
}

function rejectedLine({ rows, series, reason }: Status['rejected']): string {
  return `rejected: ${counted(rows, 'row')} of ${formatCount(series)} series, such as: ${reason} (tidemark.quarantine)`;
}

/** `candles for 2y (nothing before 2024-09-11)` */
function retentionText({ dataset, age, cutMs }: Retention): string {
  return `${storedWords[dataset]} for ${age} (nothing before ${formatTime(cutMs)})`;
}

/** Overdue work of TimescaleDB; nothing when all is well. */
function upkeepLines({ failingJobs, rollupsBehind, chunksDue, locks }: Upkeep): string[] {
  const [first] = failingJobs;
  const late = nonEmpty([
    rollupsBehind === 0 ? '' : `the rollups of ${formatCount(rollupsBehind)} series await a refresh`,
    chunksDue === 0 ? '' : `${counted(chunksDue, 'chunk')} ${chunksDue === 1 ? 'awaits' : 'await'} the columnstore`,
  ]);
  return [
    first === undefined
      ? ''
      : `database jobs: ${formatCount(failingJobs.length)} failing (the scheduler does their work), such as ` +
        `${first.kind}${first.of === null ? '' : ` of ${first.of}`}: ${first.message}`,
    locks.statements === 0
      ? ''
      : `locks: ${counted(locks.statements, 'statement')} of Tidemark ` +
        `${locks.statements === 1 ? 'waits' : 'wait'} for ${locks.holders.join(', ') || 'a lock'}`,
    late.length === 0 ? '' : `upkeep: ${late.join(', ')}`,
  ];
}

function asJson(status: Status): JsonDocument<'status'> {
  const { queue, queueProblem } = status;
  const { headline, also, left, requests, wantedMs, coveredMs, etaMs, waiting } = status.state;
  return {
    time: isoTime(status.nowMs),
    headline,
    also,
    windowsLeft: left,
    requests,
    wantedSeconds: wantedMs / 1000,
    coveredSeconds: coveredMs / 1000,
    etaSeconds: etaMs === null ? null : Math.ceil(etaMs / 1000),
    waiting,
    database: { ...status.versions, embedded: status.embedded },
    upkeep: {
      ...status.upkeep,
      failingJobs: status.upkeep.failingJobs.map(({ lastRunMs, ...job }) => ({ ...job, lastRun: isoTime(lastRunMs) })),
    },
    source: status.source,
    sourceOutage: outageJson(status.outage),
    sources: status.sources,
    notice:
      status.serviceMessage === null
        ? null
        : { time: isoTime(status.serviceMessage.timeMs), message: status.serviceMessage.message },
    rejected: status.rejected,
    silences: status.silences.length,
    budget: status.usesDefault ? { ...status.budget, lowered: loweredJson(status.budget.lowered) } : null,
    queue,
    error: queueProblem === null ? null : errorJson(queueProblem),
    rates: {
      currencies: status.rates.currencies,
      newest: isoTime(status.rates.newestMs),
      everySeconds: status.rates.everyMs / 1000,
    },
    lists: status.lists.map((row) => ({
      list: row.list.dataset,
      asset: row.list.asset,
      everySeconds: row.everyMs / 1000,
      newest: isoTime(row.newestMs),
      newestAgeSeconds: row.newestMs === null ? null : (status.nowMs - row.newestMs) / 1000,
      rows: row.rows,
      changed: row.changed,
      gone: row.gone,
      pagesUnderWay: row.pages,
      problem: row.problem,
      retryAt: isoTime(row.retryMs),
      quarantined: row.quarantined,
    })),
    retention: status.retentions.map(({ dataset, age, cutMs }) => ({ dataset, age, nothingBefore: isoTime(cutMs) })),
    series: status.series.map((row) => ({
      id: row.seriesId,
      ...seriesJson(row.series),
      tracked: { from: isoTime(row.tracked.startMs), to: isoTime(row.tracked.endMs) },
      wantedSeconds: row.wantedMs / 1000,
      coveredSeconds: row.coveredMs / 1000,
      missingSeconds: row.missingMs / 1000,
      awaitingSeconds: row.awaitingMs / 1000,
      failedSeconds: row.failedMs / 1000,
      beyondDepthSeconds: row.beyondDepthMs / 1000,
      confirmedEmptySeconds: row.confirmedEmptyMs / 1000,
      beforeBeginningSeconds: row.beforeBeginningMs / 1000,
      quarantined: row.quarantined,
      gaps: row.gaps,
      points: row.points,
      earliest: isoTime(row.earliestMs),
      newest: isoTime(row.newestMs),
      revised: row.revised,
      rereadAt: isoTime(row.rereadAtMs),
      newestAgeSeconds: row.newestMs === null ? null : (status.nowMs - row.newestMs) / 1000,
      behindPeriods: Math.round(row.behindMs / row.periodMs),
      silentSince: isoTime(row.silentSinceMs),
      readAt: isoTime(row.readMs),
      blocked: row.blocked,
    })),
  };
}
