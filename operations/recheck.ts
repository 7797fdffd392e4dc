/**
 * Covered windows are requested again, through the connected workers: `verify` compares the answers, also with another
 * source, and changes nothing; `repair` stores them. Both for the commands and the dashboard.
 *
 *   polling    Reads the queued windows, then the results of finished ones. All windows are settled: *ended*.
 *   queueing   Keeps a few windows in the queue, with the lowest priority. Without a worker this process runs one.
 *   ended      All windows are settled, or Ctrl-C. Windows that no worker started are removed from the queue.
 *
 * recheck-state.ts decides what is requested next. The windows of a source that accepts no request for long, whose
 * credits are used up, or of several one that is away, remain unanswered. A crash leaves a few windows queued.
 */

import { badArgument, TidemarkError } from '../errors.ts';
import { counted, formatCount, formatTime } from '../model/format.ts';
import { dayMs, intervalMs, minuteMs } from '../model/intervals.ts';
import { countBySlots, trackingLanes } from '../model/lanes.ts';
import { archivedUpTo, cutByFile } from '../model/months.ts';
import { clip, type Range } from '../model/ranges.ts';
import { longestRange } from '../model/request-range.ts';
import { type SeriesKey, seriesName } from '../model/series.ts';
import { defaultSource, type SourceFacts } from '../model/sources.ts';
import { sum } from '../model/sum.ts';
import { asksAlone, asksDays, withWitnesses } from '../model/window.ts';
import { probedSeries, probesAgain } from '../planning/beginning.ts';
import { commandSlots } from '../planning/budget.ts';
import { pausedText } from '../planning/headline.ts';
import { oldestKept, periodsIn, timesWithin } from '../planning/periods.ts';
import { RateEstimator, type WindowProgress } from '../planning/progress.ts';
import {
  allWindows,
  type CoveredSeries,
  type CoveredWindow,
  countWindows,
  sampleWindows,
  windowsAround,
} from '../planning/sample.ts';
import { outageSince } from '../planning/source-outage.ts';
import { depthOf, passedOverAfterMs } from '../planning/source-share.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { usable } from '../sources/registry.ts';
import { consumeResults, deleteUnreadResults } from '../store/commit/command-results.ts';
import { type Difference, readDifferences, readDifferingPeriods } from '../store/commit/differences.ts';
import { openMissing } from '../store/commit/open-missing.ts';
import { removeAbsent } from '../store/commit/remove-absent.ts';
import { readOldEmptyRanges } from '../store/commit/reread.ts';
import { unboundedKind } from '../store/commit/verification.ts';
import type { BackfilledSeries } from '../store/ledger/backfills.ts';
import { readUse } from '../store/ledger/ledger.ts';
import { ledgerMinutes, tallyFetches } from '../store/ledger/ledger-minutes.ts';
import { countRejected } from '../store/ledger/quarantine.ts';
import { readOutageOf } from '../store/ledger/source-outage.ts';
import { readCoveredRanges } from '../store/series/ranges.ts';
import { askableIn, readSourceLists, readSourcesOf, type SeriesSource } from '../store/series/sources.ts';
import { readLongestRanges } from '../store/settings/settings.ts';
import { readSourcePauses } from '../store/settings/source-orders.ts';
import { type Recorded, recorded, runOf } from './backfill/record.ts';
import { type AskedWindows, type CommandCost, costOfCommand } from './command-cost.ts';
import { type ActedOn, assertTracked } from './command-range.ts';
import { type OperationContext, readRangeLimits, withQueues } from './context.ts';
import { readBudget } from './estimate.ts';
import { inProcessWorkers } from './in-process-workers.ts';
import { pollUntil } from './poll-until.ts';
import {
  type Account,
  type RecheckedWindow,
  type RecheckRules,
  RecheckState,
  type Refusal,
  unusableKind,
  windowKey,
} from './recheck-state.ts';
import { refreshRollupsAtEnd } from './refresh-rollups.ts';
import {
  assertNoServiceMessage,
  assertNotPaused,
  assertNotRefused,
  assertSourceUsable,
  banText,
} from './source-health.ts';
import { sourceNamed, symbolsAt } from './sources/markets.ts';
import { distinctSources, joinQueues, type SourcesOf } from './sources/queues.ts';

export type Verification = Awaited<ReturnType<typeof verify>>;

interface CommandRequest extends ActedOn {
  /** Who asks. */
  readonly by: string;
  readonly signal: AbortSignal;
  readonly progress: () => WindowProgress;
  /** Is told what the requests will cost, before the first one. */
  readonly begins: (cost: readonly CommandCost[]) => void;
}

export interface VerifyRequest extends CommandRequest {
  /** Number of windows, drawn at random; null: every covered window. */
  readonly sample: number | null;
  /** Name of another source to compare with; null: each series' own. */
  readonly against: string | null;
  readonly note: (text: string) => void;
}

type ChosenForVerify = ActedOn & Pick<VerifyRequest, 'sample' | 'against' | 'note'>;

/** What is to be compared. @throws TidemarkError BAD_ARGUMENT for a range without a tracked series. */
async function planVerify(context: OperationContext, request: ChosenForVerify) {
  const { database } = context;
  await assertTracked(context, request);
  const all = clipped(await readCoveredRanges(database, request.seriesIds), request.within);
  const isNothing = request.within !== undefined && all.length === 0;
  const other = request.against === null || isNothing ? null : await comparedWith(context, request.against, all);
  for (const line of other?.notes ?? []) request.note(line);
  const unusable = other === null ? await withoutUsableSource(context, all) : [];
  const covered = (other?.covered ?? all).filter((one) => !unusable.includes(one));
  const longestRangeMs = other?.longestRangeMs ?? (await readRangeLimits(context));
  const windows = countWindows(covered, longestRangeMs);
  const wanted = Math.min(windows, request.sample ?? windows);
  // Not drawn from, and named each: its ranges are refused whole.
  const refused = [...allWindows(unusable, () => Number.POSITIVE_INFINITY)];
  const drawn = request.sample === null ? null : [...sampleWindows(covered, longestRangeMs, wanted, Math.random)];
  const planned: PlannedRecheck = {
    windows: inOrder(refused, drawn ?? allWindows(covered, longestRangeMs)),
    asked: drawn === null ? windowsOf(covered, longestRangeMs) : drawn.map(windowOf),
    count: refused.length + wanted,
    longestRangeMs,
    against: other?.symbols,
    seriesIds: [...unusable, ...covered].map(({ seriesId }) => seriesId),
  };
  return { covered, windows, planned };
}

/** What {@link verify} would cost. @throws TidemarkError as it does. */
export async function costOfVerify(
  context: OperationContext,
  chosen: ActedOn & Pick<VerifyRequest, 'sample' | 'against'>,
) {
  return costOfRecheck(context, (await planVerify(context, { ...chosen, note: () => {} })).planned);
}

/** @throws TidemarkError when the source, the database or the queue cannot be used. */
export async function verify(context: OperationContext, request: VerifyRequest) {
  const { database } = context;
  const { covered, windows, planned } = await planVerify(context, request);
  const { tally, ...outcome } = await recheck(context, {
    ...planned,
    lane: 'verify',
    ...{ by: request.by, begins: request.begins, signal: request.signal, progress: request.progress() },
  });
  const { compared, points, rewritten, unbounded } = tally;
  /** Rejected rows of the covered ranges: there is nothing to compare of their periods. */
  const rejected = await countRejected(database, new Map(covered.map(hullOf)));
  return { windows, requested: planned.count, compared, points, rewritten, unbounded, rejected, ...outcome };
}

/** The whole periods of a range. @param within absent: everything. */
function clipped<Entry extends CoveredSeries>(covered: readonly Entry[], within: Range | undefined): readonly Entry[] {
  if (within === undefined) return covered;
  return covered
    .map((entry) => ({ ...entry, ranges: clip(entry.ranges, periodsIn(within, entry.series.interval)) }))
    .filter(({ ranges }) => ranges.length > 0);
}

/** Windows that are requested, for their cost. */
type Asked = Omit<AskedWindows, 'source'> & Pick<CoveredWindow, 'seriesId'>;

function windowsOf(covered: readonly CoveredSeries[], longestRangeMs: (series: SeriesKey) => number): Asked[] {
  return covered.map((entry) => ({ ...entry, windows: countWindows([entry], longestRangeMs) }));
}

/** A probe is an answer of days, few of which have a point. */
function windowOf({ seriesId, series, startMs, endMs, byDays }: CoveredWindow): Asked {
  return { seriesId, series, ranges: byDays ? [] : [{ startMs, endMs }], windows: 1 };
}

function hullOf({ seriesId, ranges }: CoveredSeries): [number, Range] {
  const [first = { startMs: 0, endMs: 0 }] = ranges;
  return [seriesId, { startMs: first.startMs, endMs: ranges.at(-1)?.endMs ?? first.endMs }];
}

export interface RepairRequest extends CommandRequest {
  readonly differences: boolean;
  /** Removes stored points that the source still does not have. */
  readonly removesAbsent: boolean;
  /** Empty ranges last requested before this time; null: none. */
  readonly sinceMs: number | null;
}

export type Repair = Awaited<ReturnType<typeof repair>>;

type ChosenForRepair = ActedOn & Pick<RepairRequest, 'differences' | 'sinceMs'>;

/** What is to be requested again. @throws TidemarkError BAD_ARGUMENT for a range without a tracked series. */
async function planRepair(context: OperationContext, request: ChosenForRepair) {
  const { database } = context;
  const { within } = request;
  await assertTracked(context, request);
  const longestRangeMs = await readRangeLimits(context);
  const differing = request.differences ? await readDifferingPeriods(database, request.seriesIds) : [];
  const known = differing
    .map((entry) => ({ ...entry, timesMs: timesWithin(entry.timesMs, entry.series, within) }))
    .filter(({ timesMs }) => timesMs.length > 0);
  const ofDifferences = known.flatMap(({ seriesId, series, timesMs }): CoveredWindow[] =>
    windowsAround(timesMs, intervalMs[series.interval], longestRangeMs(series)).map((range) => ({
      ...{ seriesId, series, ...range },
      byDays: false,
    })),
  );
  const old = request.sinceMs === null ? [] : await readOldEmptyRanges(database, request.sinceMs, request.seriesIds);
  const empties = clipped(old, within);
  const probes = old.flatMap(({ seriesId, series, before, knownMs }): CoveredWindow[] =>
    // Days: of the time before a beginning no shorter period is known.
    (within === undefined ? before : clip(before, periodsIn(within, 'd1'))).flatMap((range) =>
      [...probesAgain(range, knownMs, longestRangeMs(probedSeries(series)))].map((probe) => ({
        seriesId,
        series,
        ...probe,
        byDays: true,
      })),
    ),
  );
  /** Requested windows: with differences, and confirmed empty. */
  const asked = { differences: ofDifferences.length, empties: countWindows(empties, longestRangeMs) + probes.length };
  const planned: PlannedRecheck = {
    windows: inOrder(ofDifferences, allWindows(empties, longestRangeMs), probes),
    asked: [...[...ofDifferences, ...probes].map(windowOf), ...windowsOf(empties, longestRangeMs)],
    count: asked.differences + asked.empties,
    longestRangeMs,
    seriesIds: [...new Set([...known, ...empties, ...probes].map(({ seriesId }) => seriesId))],
  };
  return { asked, planned };
}

/** What {@link repair} would cost. @throws TidemarkError as it does. */
export async function costOfRepair(context: OperationContext, chosen: ChosenForRepair) {
  return costOfRecheck(context, (await planRepair(context, chosen)).planned);
}

/** @throws TidemarkError when the source, the database or the queue cannot be used. */
export async function repair(context: OperationContext, request: RepairRequest) {
  const { database } = context;
  const { within } = request;
  const { asked, planned } = await planRepair(context, request);
  const { tally, ...outcome } = await recheck(context, {
    ...planned,
    lane: 'repair',
    ...{ by: request.by, begins: request.begins, signal: request.signal, progress: request.progress() },
  });
  const { fresh, revised, earlier } = tally;
  const answered = tally.compared + tally.unbounded.length;
  const nowMs = context.clock.now();
  const isAnswered = outcome.isWhole && outcome.unanswered.length === 0;
  const removed =
    request.removesAbsent && isAnswered ? await removeAbsent(database, request.seriesIds, nowMs, within) : [];
  if (fresh + revised + removed.length > 0) await refreshRollupsAtEnd(context, planned.seriesIds, request.signal);
  const missing = request.differences ? await openMissing(database, request.seriesIds, nowMs, within) : [];
  const keyOf = ({ seriesId, timeMs }: Pick<Difference, 'seriesId' | 'timeMs'>) => `${seriesId} ${timeMs}`;
  const gone = new Set(removed.map(keyOf));
  const differences = outcome.differences.filter((one) => !gone.has(keyOf(one)));
  const counts = { answered, fresh, revised, removed: removed.length };
  return { asked, ...outcome, ...counts, differences, earlier: [...earlier], missing };
}

function* inOrder(...lists: Iterable<CoveredWindow>[]): Generator<CoveredWindow> {
  for (const list of lists) yield* list;
}

/**
 * The sources that this process cannot ask, as without SOURCE_URL, and that no connected worker asks, with the reason.
 *
 * @throws TidemarkError BAD_CONFIGURATION when none of these can be asked.
 */
async function unusableSources(context: OperationContext, names: readonly string[]): Promise<Map<string, string>> {
  const registry = await context.sources();
  const unset = names.filter((name) => registry.find(name)?.problem !== null);
  if (unset.length === 0) return new Map();
  const unusable = await withQueues(context, async (queues) => {
    const workers = await Promise.all(unset.map((name) => queues.requestsOf(name).countWorkers()));
    return unset.filter((_, place) => workers[place] === 0);
  });
  const [first] = unusable;
  if (first !== undefined && unusable.length === names.length) usable(registry.get(first));
  return new Map(unusable.map((name) => [name, registry.find(name)?.problem ?? `no source is named ${name}`]));
}

async function withoutUsableSource(
  context: OperationContext,
  covered: readonly CoveredSeries[],
): Promise<readonly CoveredSeries[]> {
  const ids = covered.map(({ seriesId }) => seriesId);
  const sourcesOf = await readSourcesOf(context.database, ids);
  const unusable = await unusableSources(context, distinctSources(ids, sourcesOf));
  return covered.filter(({ seriesId }) => unusable.has(sourcesOf.get(seriesId)?.source ?? ''));
}

/** Windows to request again. */
interface PlannedRecheck {
  readonly windows: Iterable<CoveredWindow>;
  readonly count: number;
  /** The windows again, as far as their source may be asked. */
  readonly asked: readonly Asked[];
  readonly seriesIds: readonly number[];
  readonly longestRangeMs: (series: SeriesKey) => number;
  /** Another source that answers instead of the series' own, and the symbol of each series there; absent: their own. */
  readonly against?: SourcesOf | undefined;
}

interface RecheckRequest extends PlannedRecheck, Pick<CommandRequest, 'by' | 'begins' | 'signal'> {
  readonly lane: 'verify' | 'repair';
  readonly progress: WindowProgress;
}

const noTally = () => ({
  /** Completely compared windows. */
  compared: 0,
  /**
   * Windows that are not verified: no row bounds the silence at the edge of the answer, so it may be truncated.
   * Differing points elsewhere in them count.
   */
  unbounded: [] as CoveredWindow[],
  points: 0,
  rewritten: 0,
  fresh: 0,
  revised: 0,
  /** Series with points before their known beginning: the years before are gaps now. */
  earlier: new Set<SeriesKey>(),
});

/** What the settled windows brought. */
type Tally = ReturnType<typeof noTally>;

function count(tally: Tally, settled: RecheckedWindow): void {
  for (const figure of ['points', 'rewritten', 'fresh', 'revised'] as const) tally[figure] += settled[figure];
  if (settled.kind === 'overturned') tally.earlier.add(settled.window.series);
  if (settled.message !== null) return;
  if (settled.kind === unboundedKind) tally.unbounded.push(settled.window);
  else tally.compared += 1;
}

interface RecheckOutcome {
  readonly tally: Tally;
  /** Whether every window was settled, which Ctrl-C prevents. */
  readonly isWhole: boolean;
  /** Windows that differ from the source, by series and time, and the differences in them. */
  readonly differing: readonly RecheckedWindow[];
  readonly differences: readonly Difference[];
  readonly unanswered: readonly RecheckedWindow[];
  /** What the requests were to cost. */
  readonly cost: readonly CommandCost[];
}

/** A source that pauses for longer, as during a ban, is not waited for. */
const longestPauseMs = 10 * minuteMs;

/** Range of the ledger that shows whether the source is usable. */
const ledgerMs = 300_000;

type AskedSources = Awaited<ReturnType<typeof readAsked>>;

/** Whom the windows are asked of. */
async function readAsked(context: OperationContext, { against, seriesIds }: PlannedRecheck) {
  const sourcesOf = against ?? (await readSourcesOf(context.database, seriesIds));
  const named = distinctSources(seriesIds, sourcesOf);
  const unusable = against === undefined ? await unusableSources(context, named) : new Map<string, string>();
  const pauses = await readSourcePauses(context.database);
  const sources = named.filter((name) => !unusable.has(name) && !pauses.has(name));
  return { named, sourcesOf, unusable, pauses, sources };
}

function costAt(
  context: OperationContext,
  { asked }: PlannedRecheck,
  { sourcesOf, unusable }: Pick<AskedSources, 'sourcesOf' | 'unusable'>,
): Promise<CommandCost[]> {
  return costOfCommand(
    context,
    asked.flatMap((one) => {
      const source = sourcesOf.get(one.seriesId)?.source;
      return source === undefined || unusable.has(source) ? [] : [{ ...one, source }];
    }),
    'command',
  );
}

async function costOfRecheck(context: OperationContext, planned: PlannedRecheck): Promise<CommandCost[]> {
  return planned.count === 0 ? [] : costAt(context, planned, await readAsked(context, planned));
}

/** @throws TidemarkError when the source, the database or the queue cannot be used, or CANCELLED. */
async function recheck(context: OperationContext, request: RecheckRequest): Promise<RecheckOutcome> {
  const tally = noTally();
  if (request.count === 0) return { tally, isWhole: true, differing: [], differences: [], unanswered: [], cost: [] };
  const { lane: kind, by, signal } = request;
  const work = (record: Recorded) => runRecheck(context, { ...request, signal: record.signal }, { record, tally });
  return recorded(context, { kind, by, series: hullsOf(request.asked), signal }, work, (outcome) => {
    const { differing, unanswered } = outcome;
    const isPart = unanswered.length > 0 || !outcome.isWhole;
    const changed = kind === 'verify' ? null : storedText(tally);
    // Of a repair those that are left: it stores what the others had.
    const differ = kind === 'verify' ? 'with differences' : 'still with differences';
    const nothing = kind === 'verify' ? 'nothing differs' : 'nothing changed';
    const found = [
      ...(changed === null ? [] : [changed]),
      ...(differing.length === 0 ? [] : [`${formatCount(differing.length)} ${differ}`]),
    ];
    const windows = counted(request.count, 'window');
    const said = [
      outcome.isWhole ? `${windows} requested` : `stopped after ${formatCount(tally.compared)} of ${windows}`,
      ...(found.length === 0 && !isPart ? [nothing] : found),
      ...(tally.unbounded.length === 0 ? [] : [`${formatCount(tally.unbounded.length)} unbounded`]),
      ...(unanswered.length === 0 ? [] : [`${formatCount(unanswered.length)} unanswered`]),
    ].join(', ');
    return outcome.isWhole ? said : new TidemarkError('INTERRUPTED', said);
  });
}

/** `3 points new, 2 changed`; null: neither. */
export function storedText({ fresh, revised }: { readonly fresh: number; readonly revised: number }): string | null {
  if (fresh === 0) return revised === 0 ? null : `${counted(revised, 'point')} changed`;
  return `${counted(fresh, 'point')} new${revised === 0 ? '' : `, ${formatCount(revised)} changed`}`;
}

/** From the first to the last window of each series. */
function hullsOf(asked: readonly Asked[]): BackfilledSeries[] {
  const hulls = new Map<number, Range>();
  for (const { seriesId, ranges } of asked)
    for (const { startMs, endMs } of ranges) {
      const hull = hulls.get(seriesId) ?? { startMs, endMs };
      hulls.set(seriesId, { startMs: Math.min(hull.startMs, startMs), endMs: Math.max(hull.endMs, endMs) });
    }
  return [...hulls].map(([seriesId, range]) => ({ seriesId, range, before: null, after: null }));
}

async function runRecheck(
  context: OperationContext,
  request: RecheckRequest,
  { record, tally }: { readonly record: Recorded; readonly tally: Tally },
): Promise<RecheckOutcome> {
  const { clock, database } = context;
  const requestsPerMinute = await readBudget(context, defaultSource);
  const run = runOf(record.id);
  const rate = new RateEstimator(clock);
  const { named, sourcesOf, unusable, sources, pauses } = await readAsked(context, request);
  await assertNotPaused(context, [named]);
  const cost = await costAt(context, request, { sourcesOf, unusable });
  request.begins(cost);
  const parts = inProcessWorkers(context, null, { sources, run });
  const startedMs = clock.now();
  const ledger = ledgerMinutes(database, { sinceMs: startedMs, keptMs: ledgerMs, seriesIds: request.seriesIds });
  const state = stateOf(request, run, {
    sourceOf: ({ seriesId }) => sourcesOf.get(seriesId)?.source ?? '',
    onSettled: (settled) => count(tally, settled),
  });
  for (const [source, message] of unusable) state.refuse(source, { kind: unusableKind, message });
  for (const [source, pause] of pauses) state.refuse(source, { kind: 'paused', message: pausedText(source, pause) });

  /** Ends the windows of a source. */
  async function refuse(source: string, queues: QueueBackend, refusal: Refusal): Promise<void> {
    await queues.requestsOf(source).dropRun(run);
    state.refuse(source, refusal);
  }

  /** Ends the windows of sources that pause for long. @returns the longest pause of the others. */
  async function refuseBanned(queues: QueueBackend): Promise<number> {
    let longestMs = 0;
    for (const source of sources.filter((name) => !state.isRefusing(name))) {
      const pausedMs = await queues.requestsOf(source).pausedForMs();
      if (pausedMs <= longestPauseMs) longestMs = Math.max(longestMs, pausedMs);
      else {
        const message = banText(source, clock.now() + pausedMs);
        await refuse(source, queues, { kind: 'rate_limited', message });
      }
    }
    return longestMs;
  }

  /** Ends the windows of sources that fail now and have failed for long, before this command too. */
  async function refuseAway(queues: QueueBackend): Promise<void> {
    const nowMs = clock.now();
    const minutes = await ledger.read(nowMs);
    for (const source of sources.filter((name) => !state.isRefusing(name))) {
      if (!tallyFetches(minutes.filter((of) => of.source === source)).endsInFailure) continue;
      const outage = await readOutageOf(database, source, nowMs);
      if (outage !== null && nowMs - outage.failingSinceMs >= passedOverAfterMs)
        await refuse(source, queues, { kind: outage.kind, message: outageSince(outage) });
    }
  }

  async function readAccounts(): Promise<Map<string, Account>> {
    const accounts = new Map<string, Account>();
    const configured = await context.sources();
    for (const source of sources) {
      const { name, longLimit: limit } = configured.find(source)?.facts ?? {};
      if (name === undefined || limit == null) continue;
      const { used } = await readUse(database, name, limit, clock.now());
      accounts.set(source, { used: used + state.expectedCost(source, limit), name, limit });
    }
    return accounts;
  }

  async function assertSourcesUsable(pausedMs: number): Promise<void> {
    await assertNoServiceMessage(context, { startedMs, pausedMs });
    // Of several, one that does not answer ends its own windows.
    const [name, ...others] = sources;
    if (name === undefined || others.length > 0) return;
    assertSourceUsable(tallyFetches(await ledger.read(clock.now())), name);
    const setup = (await context.sources()).find(name);
    if (setup !== undefined) await assertNotRefused(context, setup, startedMs);
  }

  async function poll(): Promise<{ readonly isWhole: boolean } | null> {
    context.assertFreeSpace();
    const queues = await parts.ensure(true);
    const requests = joinQueues(queues, sources);
    // Read claims before results: a window that ends in between is then still queued, not lost.
    const claimed = await requests.claimedWindows();
    for (const answer of await consumeResults.on(database.pool, { run })) state.receive(answer);
    const pausedMs = await refuseBanned(queues);
    if (sources.length > 1) await refuseAway(queues);
    const queued = [...claimed.windows].flatMap(([seriesId, windows]) =>
      windows.filter((window) => window.run === run).map((window) => windowKey({ seriesId, ...window })),
    );
    const lost = state.lost(new Set(queued));
    if (!request.signal.aborted) {
      const room = commandSlots({ requestsPerMinute, queued: countBySlots(claimed.load, 'command') });
      await requests.addWindows([...lost, ...state.take(room - lost.length, await readAccounts())]);
    }
    const ahead = sum(trackingLanes.map((lane) => claimed.load[lane]));
    const [done, of] = [state.settled, request.count];
    rate.addDone(done);
    record.note({ done, of, etaMs: rate.timeLeftMs(of - done, requestsPerMinute) });
    request.progress.update({ done, of, perMinute: requestsPerMinute, pausedMs, ahead });
    if (request.signal.aborted) return { isWhole: false };
    if (state.isEnded) return { isWhole: true };
    await assertSourcesUsable(pausedMs);
    return null;
  }

  try {
    await deleteUnreadResults.on(database.pool, { beforeMs: startedMs - dayMs });
    await parts.ensure(false);
    const { isWhole } = await pollUntil(context, 'requesting covered windows again', poll, request.signal);
    const { differing, unanswered } = state;
    const ranges = differing.flatMap(({ window: { seriesId }, reached }) =>
      reached.map((range) => ({ seriesId, ...range })),
    );
    const differences =
      ranges.length === 0
        ? []
        : await readDifferences(database, ranges, [...(request.against?.values() ?? [])][0]?.source);
    return { tally, isWhole, differing, differences, unanswered, cost };
  } finally {
    request.progress.stop();
    await parts.close();
  }
}

function stateOf(
  { lane, windows, longestRangeMs, against }: RecheckRequest,
  run: string,
  { sourceOf, onSettled }: Pick<RecheckRules, 'sourceOf' | 'onSettled'>,
): RecheckState {
  /** A month of an archive is a file: no witness can be beside it. */
  const isArchive = [...(against?.values() ?? [])].some((source) => source.isArchive);
  return new RecheckState({
    windows,
    requestFor(window, part) {
      const { startMs, endMs } = part;
      const symbol = against?.get(window.seriesId)?.symbol;
      const request = {
        ...{ ...window, startMs, endMs, lane, run, source: sourceOf(window), of: { startMs, endMs } },
        against: symbol === undefined ? null : { symbol },
      };
      if (window.byDays) return { ...request, ...asksDays(part) };
      return isArchive ? { ...request, ...asksAlone(part) } : withWitnesses(request, longestRangeMs(window.series));
    },
    sourceOf,
    onSettled,
  });
}

interface OtherSource {
  /** What both have: the covered ranges that the other source can be asked for. */
  readonly covered: readonly CoveredSeries[];
  readonly symbols: SourcesOf;
  readonly longestRangeMs: (series: SeriesKey) => number;
  /** What is left out, and why. */
  readonly notes: readonly string[];
}

/**
 * What of the covered series another source can be compared on.
 *
 * @throws TidemarkError BAD_ARGUMENT when there is no such source, or it has none of the series, or no file yet.
 */
async function comparedWith(
  context: OperationContext,
  name: string,
  all: readonly CoveredSeries[],
): Promise<OtherSource> {
  const nowMs = context.clock.now();
  const source = await sourceNamed(context, name);
  usable(source);
  const lists = await readSourceLists(context.database.pool);
  const covered = all.filter(({ seriesId }) => {
    const own = askableIn(lists.get(seriesId) ?? []);
    return own.length === 0 || own.some((other) => other !== name);
  });
  if (covered.length === 0 && all.length > 0)
    throw badArgument(`${name} is the own source of these series`, '`verify` without --against asks it again');
  const symbols = await symbolsAt(context, source, covered, nowMs);
  const given = covered.filter(({ seriesId }) => symbols.has(seriesId));
  const [first] = covered.filter(({ seriesId }) => !symbols.has(seriesId));
  if (given.length === 0)
    throw badArgument(
      `${name} has none of these series${first === undefined ? '' : `, such as ${seriesName(first.series)}`}`,
      'docs/sources.md lists what each source gives; `aliases` of the watch list join its names',
    );
  const { files } = source.facts;
  const asked = given.map((entry) => ({ ...entry, ranges: askable(entry, source.facts, nowMs) }));
  if (files !== null && asked.every(({ ranges }) => ranges.length === 0))
    throw badArgument(
      `${name} has no file of that time yet: its files end at ${formatTime(archivedUpTo(nowMs, files))}`,
      'run the same command again later, or compare what is older',
    );
  const accepted = await readLongestRanges(context.database, name);
  const isArchive = files !== null;
  return {
    covered: asked,
    symbols: new Map<number, SeriesSource>(
      [...symbols].map(([id, symbol]) => [id, { source: name, symbol, isArchive }]),
    ),
    // The ranges of an archive are those of its files already, and have no room for witnesses.
    longestRangeMs: (series) => (isArchive ? 31 * intervalMs.d1 : longestRange(series, source.facts.offers, accepted)),
    notes: [
      ...(covered.length === all.length
        ? []
        : [`${name} is the own source of ${all.length - covered.length} series: they are not compared`]),
      ...(first === undefined
        ? []
        : [`${name} does not have ${covered.length - given.length} series, such as ${seriesName(first.series)}`]),
    ],
  };
}

function askable({ series, ranges }: CoveredSeries, source: SourceFacts, nowMs: number): Range[] {
  const { files } = source;
  if (files !== null)
    return clip(ranges, { startMs: Number.NEGATIVE_INFINITY, endMs: archivedUpTo(nowMs, files) }).flatMap((range) => [
      ...cutByFile(range, files),
    ]);
  const depth = depthOf(source, series);
  if (depth === null) return [...ranges];
  return clip(ranges, { startMs: oldestKept(series, depth, nowMs), endMs: Number.POSITIVE_INFINITY });
}
