/**
 * Backfills a range until it has no gap.
 *
 *   polling    Reads the gaps. No gap can be requested now and none of their windows is queued: *ended*.
 *   joining    Workers and a scheduler run elsewhere and find the gaps themselves. This process only polls.
 *   working    This process runs the missing scheduler or worker, for these series only.
 *   waiting    No gap can be requested now, and a deferred window is due soon: after many errors, while the source
 *              lags, or for a second answer. When it is due: *working*.
 *   ended      Complete, refused with the missing ranges, or Ctrl-C. The rollups are refreshed, and windows that this
 *              process queued and no worker started are removed from the queue.
 *
 * A crash needs no cleanup: coverage in the database determines the remaining work.
 */

import type { Clock } from '../../clock.ts';
import { type EpochMs, hourMs, intervalMs, minuteMs } from '../../model/intervals.ts';
import { trackingLanes } from '../../model/lanes.ts';
import { clip, lengthMs, overlaps, type Range } from '../../model/ranges.ts';
import { defaultSource } from '../../model/sources.ts';
import { sum } from '../../model/sum.ts';
import { budgetInForce, differingBudgets, lowerBudget } from '../../planning/budget.ts';
import { pausedText } from '../../planning/headline.ts';
import { type BackfillProgress, isPausedBySource } from '../../planning/progress.ts';
import { passedOverAfterMs } from '../../planning/source-share.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import { acceptEmptyAnswers } from '../../store/commit/empty-answers.ts';
import { readLackingValues } from '../../store/commit/reread.ts';
import type { BackfilledSeries } from '../../store/ledger/backfills.ts';
import { countFetchesSince } from '../../store/ledger/ledger.ts';
import { ledgerMinutes, tallyFetches } from '../../store/ledger/ledger-minutes.ts';
import { countRejected, readQuarantined } from '../../store/ledger/quarantine.ts';
import { type Gap, listGaps } from '../../store/series/gaps.ts';
import { untrackUnknown } from '../../store/series/series.ts';
import { readAllSources, readSourceLists, readSourcesOf } from '../../store/series/sources.ts';
import { readLoweredBudgets, readSourcePauses } from '../../store/settings/source-orders.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { type OperationContext, readRangeLimits } from '../context.ts';
import { inProcessWorkers } from '../in-process-workers.ts';
import { pollUntil } from '../poll-until.ts';
import { refreshRollupsAtEnd } from '../refresh-rollups.ts';
import { countEach, divideWorkable, explainUnasked, isWorkable, readGapDivision } from '../source-gaps.ts';
import {
  assertCreditsLeft,
  assertNoServiceMessage,
  assertNotPaused,
  assertNotRefused,
  assertSourceUsable,
  refusalSaid,
} from '../source-health.ts';
import { distinctSources, joinQueues } from '../sources/queues.ts';
import { readQueueFacts } from '../status/queue-facts.ts';
import { etaOfRanges, readDemand } from './eta.ts';
import {
  type BackfillOutcome,
  deferredText,
  isAwaited,
  outcomeOf,
  partsWithin,
  portionsOf,
  refusalOf,
  withoutPoints,
} from './outcome.ts';

export interface BackfillRequest {
  /** Of its record; absent: it has none. */
  readonly id?: number;
  /** What is asked for, as it is recorded. */
  readonly series: readonly BackfilledSeries[];
  /** Those of them that are tracked for this backfill alone: no more than it, where the source does not know them. */
  readonly newIds?: readonly number[];
  /** Waits for second answers, however long they take. */
  readonly wait?: boolean;
  /** Accepts one empty answer as confirmation. */
  readonly acceptEmpty?: boolean;
  readonly signal: AbortSignal;
  /** Looks whether it was cancelled, which aborts the signal: what is no longer tracked is not complete. */
  readonly look?: () => Promise<void>;
  readonly progress: BackfillProgress;
}

const never: Range = { startMs: 0, endMs: 0 };

const etaEveryMs = 5000;

/** Poll interval while waiting. */
const idlePollMs = 1000;

/**
 * @returns the outcome. Its refusal is GAPS_REMAIN when windows are out of attempts, AWAITS_SECOND_ANSWER when only
 * those are missing, or UNKNOWN_AT_SOURCE when the source does not know a series or returned no point of it.
 * @throws TidemarkError SOURCE_UNREACHABLE, SOURCE_NOT_A_MARKET_DATA_SERVICE, SOURCE_REFUSED or SOURCE_NOTICE when the
 * source cannot answer.
 */
export async function runBackfill(context: OperationContext, request: BackfillRequest): Promise<BackfillOutcome> {
  const { database, clock } = context;
  const { newIds = [] } = request;
  const ranges: Ranges = new Map(request.series.map(({ seriesId, range }) => [seriesId, range]));
  const seriesIds = [...ranges.keys()];
  const lists = await readSourceLists(database.pool, seriesIds);
  await assertNotPaused(
    context,
    [...lists.values()].map((list) => list.map(({ source }) => source)),
  );
  const startedMs = clock.now();
  const sourcesOf = await readSourcesOf(database, seriesIds);
  const sources = await readAllSources(database, seriesIds);
  const parts = inProcessWorkers(context, ranges, { sources });
  let isFirst = true;
  let reportedWait: string | null = null;
  /** What was said of each source that refuses requests, or that somebody paused. */
  const refusals = new Map<string, string>();
  let accepted = 0;
  const [only, ...others] = distinctSources(seriesIds, sourcesOf);
  // A backfill of several sources reports the budget of the default one.
  const registry = await context.sources();
  const single = only === undefined || others.length > 0 ? undefined : registry.find(only);
  const setup = single ?? registry.get(defaultSource);
  const { name, longLimit } = setup.facts;
  let perMinute = setup.facts.requestsPerMinute;
  const requestsOfLastMinute = lastMinuteOf(context, name);
  const ledger = ledgerMinutes(database, {
    ...{ sinceMs: startedMs, seriesIds, lanes: trackingLanes, backfillId: request.id },
  });
  // The beginning of a series may become known.
  const { graceMs } = context.config.worker;
  const trackedNow = atMostEverySecond(clock, () => seriesStatus(database, { nowMs: startedMs, graceMs, seriesIds }));
  const loweredNow = atMostEverySecond(clock, () => readLoweredBudgets(database));
  const pausesNow = atMostEverySecond(clock, () => readSourcePauses(database));
  const tallyNow = atMostEverySecond(clock, async () => tallyFetches(await ledger.read(clock.now())));

  /** Connected workers may have another budget than this process. */
  async function reportBudgets(queues: QueueBackend): Promise<void> {
    const present = await queues.connectedBudgets(name);
    perMinute = budgetInForce(setup.facts, present);
    const differing = differingBudgets(setup.facts, present);
    if (differing !== null && name === defaultSource) request.progress.say(differing);
  }

  /** All gaps are read for it where a scheduler runs. */
  const etaNow = atMostEvery(clock, etaEveryMs, async () => {
    const nowMs = clock.now();
    const queue = await readQueueFacts(context, await parts.ensure(false), sources, await loweredNow());
    const { divide } = await readGapDivision(context, nowMs);
    const demand = await readDemand(context, queue, { nowMs, divide });
    return etaOfRanges({ id: request.id ?? null, ranges }, demand);
  });

  /** The sources that are to be asked for a value that files lack. */
  async function sourcesToAdd(nowMs: EpochMs): Promise<string[]> {
    const found: string[] = [];
    for (const source of sources) {
      const offers = registry.find(source)?.facts.offers ?? [];
      const lacking = await readLackingValues(database, { source, seriesIds, nowMs, limit: seriesIds.length }, offers);
      if (lacking.some((one) => clip(one.ranges, ranges.get(one.seriesId) ?? never).length > 0)) found.push(source);
    }
    return found;
  }

  async function poll(): Promise<BackfillOutcome | null> {
    context.assertFreeSpace();
    const queues = await parts.ensure(!isFirst);
    // Read claims before gaps: a window that ends in between is then still claimed, not lost.
    const requests = joinQueues(queues, sources);
    const claimed = await requests.claimedWindows();
    const nowMs = clock.now();
    const { divide } = await readGapDivision(context, nowMs);
    const gaps = explainUnasked(await missingWithin(context, ranges, nowMs), divide);
    if (isFirst) await reportBudgets(queues);
    isFirst = false;
    const divided = divideWorkable(gaps, nowMs, divide);
    const left = portionsOf(gaps, partsWithin(await trackedNow(), ranges, divide), countEach(divided));
    const queued = gaps.some((gap) => claimed.windows.get(gap.seriesId)?.some((window) => overlaps(window, gap)));
    const isFilling = queued || gaps.some((gap) => isWorkable(gap, nowMs));
    const isWorking = isFilling || (await sourcesToAdd(nowMs)).length > 0;
    if (!isWorking) await request.look?.();
    const awaited = isWorking ? [] : gaps.filter((gap) => isAwaited(gap, nowMs, request.wait === true));
    if (isWorking && !queued && longLimit !== null) {
      const spanMs = await readRangeLimits(context);
      const workable = gaps.filter((gap) => isWorkable(gap, nowMs));
      const periods = workable.map(
        ({ series, ...gap }) => Math.min(lengthMs([gap]), spanMs(series)) / intervalMs[series.interval],
      );
      await assertCreditsLeft(context, setup.facts, Math.min(...periods), nowMs);
    }
    const pausedMs = await requests.pausedForMs();
    const tally = await tallyNow();
    const progress = {
      series: left,
      points: tally.fresh,
      lastMinute: await requestsOfLastMinute(),
      perMinute: lowerBudget(perMinute, (await loweredNow()).get(name)),
      failures: tally.failures,
      pausedMs,
      etaMs: left.every((one) => one.left === 0) ? null : await etaNow(),
      awaited: awaited.length,
    };
    // Of one that was cancelled nothing is left, because nothing of it is tracked.
    if (!request.signal.aborted) request.progress.update(progress);
    const windows = left.reduce((sum, entry) => sum + entry.left, 0);
    const outcome = async () => ({
      ...outcomeOf(tallyFetches(await ledger.recount(clock.now())), { startedMs, nowMs: clock.now() }, gaps, windows),
      accepted,
    });
    if (request.signal.aborted) return { ...(await outcome()), interrupted: true };
    await assertNoServiceMessage(context, { startedMs, pausedMs });
    // Where a series has a next source, that one takes over first.
    if (sources.length === 1 || nowMs - startedMs > 2 * passedOverAfterMs) {
      assertSourceUsable(tally, name);
      await assertNotRefused(context, setup, startedMs);
    }
    const pauses = await pausesNow();
    for (const source of sources.filter((name) => isPausedBySource(pausedMs) || pauses.has(name))) {
      const pause = pauses.get(source);
      const said = pause === undefined ? await refusalSaid(context, source) : pausedText(source, pause);
      if (said !== null && said !== refusals.get(source)) request.progress.say(said);
      if (said !== null) refusals.set(source, said);
    }
    const newlyAccepted = request.acceptEmpty === true ? await acceptGaps(database, gaps) : 0;
    accepted += newlyAccepted;
    if (newlyAccepted > 0) return null;
    if (awaited.length > 0) {
      // Reported again when the reason or the time changes.
      const text = deferredText(awaited, nowMs);
      if (text !== reportedWait) request.progress.say(text);
      reportedWait = text;
      await clock.sleep(idlePollMs, request.signal);
    }
    if (awaited.length === 0) reportedWait = null;
    if (isWorking || awaited.length > 0) return null;
    assertSourceUsable(tallyFetches(await ledger.read(clock.now())), name);
    for (const source of await sourcesToAdd(nowMs + hourMs))
      request.progress.say(`${source} did not give values that files lack: run or backfill asks it again later`);
    const rollups = await refreshRollupsAtEnd(context, seriesIds, request.signal);
    if (rollups === 'stopped') return { ...(await outcome()), rollups, interrupted: true };
    const rejected = await countRejected(database, ranges);
    const reasons = rejected === 0 ? [] : await readQuarantined.on(database.pool, {});
    return {
      ...(await outcome()),
      rollups,
      rejected,
      rejectedFor: reasons.find(({ seriesId }) => seriesIds.includes(seriesId))?.reason ?? null,
      withoutPoints: await withoutPoints(context, seriesIds),
      refusal: await refusalOf(context, gaps, { seriesIds, newIds }),
    };
  }

  try {
    await parts.ensure(false);
    return await pollUntil(context, 'backfilling', poll, request.signal);
  } finally {
    request.progress.stop();
    await parts.close();
    if (newIds.length > 0) await untrackUnknown(database, newIds, clock.now());
  }
}

type Ranges = ReadonlyMap<number, Range>;

async function missingWithin(context: OperationContext, ranges: Ranges, nowMs: EpochMs): Promise<Gap[]> {
  const { graceMs } = context.config.worker;
  const all = await listGaps(context.database, { nowMs, graceMs, seriesIds: [...ranges.keys()] });
  return all.flatMap((gap) => {
    const range = ranges.get(gap.seriesId);
    return range === undefined ? [] : clip([gap], range).map((piece) => ({ ...gap, ...piece }));
  });
}

/** Counts requests to a source, of all lanes and processes. */
function lastMinuteOf({ database, clock }: OperationContext, source: string): () => Promise<number> {
  return atMostEverySecond(clock, async () =>
    sum(Object.values(await countFetchesSince(database, clock.now() - minuteMs, source))),
  );
}

/** Limits ledger reads: without a budget there are many requests. */
const atMostEverySecond = <Value>(clock: Clock, read: () => Promise<Value>) => atMostEvery(clock, 1000, read);

function atMostEvery<Value>(clock: Clock, ms: number, read: () => Promise<Value>): () => Promise<Value> {
  let known: { readonly value: Value; readonly untilMs: number } | null = null;
  return async () => {
    if (known === null || clock.now() >= known.untilMs) known = { value: await read(), untilMs: clock.now() + ms };
    return known.value;
  };
}

/** @returns the number of gaps that were accepted as empty. */
async function acceptGaps(database: OperationContext['database'], gaps: readonly Gap[]): Promise<number> {
  let count = 0;
  for (const { seriesId, reason, startMs, endMs } of gaps) {
    if (reason !== 'awaits_second_answer') continue;
    if (await acceptEmptyAnswers(database, { seriesId, within: { startMs, endMs } })) count += 1;
  }
  return count;
}
