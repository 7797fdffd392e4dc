/**
 * Requests covered windows again, through the connected workers.
 *
 *   polling    Reads the queued windows, then the results of finished ones. All windows are settled: *ended*.
 *   queueing   Keeps a few windows in the queue, with the lowest priority. If no worker is connected, this process runs one.
 *   ended      All windows are settled, or Ctrl-C. Windows that no worker started are removed from the queue.
 *
 * A window that is neither queued nor answered was lost with the queue and is queued again. So is, a few times, a window that
 * answered empty although points are stored. The part that a truncated answer did not reach is requested with its adjacent
 * periods; if those do not bound it either, it is requested alone. The windows of a source that accepts no request for long,
 * or whose credits are used up, remain unanswered. A crash leaves a few windows queued.
 */

import { randomBytes } from 'node:crypto';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import { type Range, subtract } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { Limit } from '../../model/sources.ts';
import { type Window, withWitnesses } from '../../model/windows.ts';
import { commandSlots, windowCost } from '../../planning/budget.ts';
import type { WindowProgress } from '../../planning/progress.ts';
import type { CoveredWindow } from '../../planning/sample.ts';
import type { QueueBackend } from '../../queue/backend.ts';
import {
  type CommandResult,
  consumeResults,
  deleteUnreadResults,
  noResult,
} from '../../store/commit/command-results.ts';
import { countDiffering, type Difference, readDifferences } from '../../store/commit/differences.ts';
import { emptiedKind, unboundedKind } from '../../store/commit/verification.ts';
import { costSince, tallyFetches } from '../../store/ledger/ledger.ts';
import { ledgerMinutes } from '../../store/ledger/ledger-minutes.ts';
import { readSourcesOf, type SourceName } from '../../store/series/sources.ts';
import type { OperationContext } from '../context.ts';
import { readBudget } from '../estimate.ts';
import { inProcessWorkers } from '../in-process-workers.ts';
import { pollUntil } from '../poll-until.ts';
import {
  assertNoServiceMessage,
  assertNotPaused,
  assertNotRefused,
  assertSourceUsable,
  banText,
  creditsText,
} from '../source-health.ts';
import { distinctSources, joinQueues, type SourcesOf } from '../sources/queues.ts';

/** The result of a window, summed over its answers. */
export interface RecheckedWindow extends Omit<CommandResult, 'reached' | 'seriesId' | 'startMs' | 'endMs'> {
  readonly window: CoveredWindow;
  /** The settled ranges; `message` explains a missing part. */
  readonly reached: readonly Range[];
}

export interface RecheckOutcome {
  /** Whether every window was settled, which Ctrl-C prevents. */
  readonly isWhole: boolean;
  /** Windows that differ from the source, by series and time, and the differences in them. */
  readonly differing: readonly RecheckedWindow[];
  readonly differences: readonly Difference[];
  readonly unanswered: readonly RecheckedWindow[];
}

export interface RecheckRequest {
  readonly lane: 'verify' | 'repair';
  readonly windows: Iterable<CoveredWindow>;
  readonly count: number;
  readonly seriesIds: readonly number[];
  readonly longestRangeMs: (series: SeriesKey) => number;
  /** Another source that answers instead of the series' own, and the symbol of each series there; absent: their own. */
  readonly against?: SourcesOf | undefined;
  readonly signal: AbortSignal;
  readonly progress: WindowProgress;
  readonly onSettled: (settled: RecheckedWindow) => void;
}

type Open = { -readonly [Key in keyof RecheckedWindow]: RecheckedWindow[Key] } & {
  reached: Range[];
  /** Pieces without an answer. */
  pieces: number;
};

interface Entry {
  readonly piece: Window;
  readonly open: Open;
  /** Number of empty answers although points are stored. */
  readonly emptied: number;
}

/** If 30 % of a source's answers are falsely empty, one window in 400 remains unanswered. */
const maxEmptied = 4;

/** A source that pauses for longer, as during a ban, is not waited for. */
const longestPauseMs = 10 * minuteMs;

/** Range of the ledger that shows whether the source is usable. */
const ledgerMs = 300_000;
const summed = ['points', 'missingHere', 'missingThere', 'changed', 'rewritten', 'fresh', 'revised'] as const;

/** @throws TidemarkError when the source, the database or the queue cannot be used. */
export async function recheckWindows(context: OperationContext, request: RecheckRequest): Promise<RecheckOutcome> {
  if (request.count === 0) return { isWhole: true, differing: [], differences: [], unanswered: [] };
  const { database } = context;
  await assertNotPaused(context);
  const requestsPerMinute = await readBudget(context);
  const run = randomBytes(8).toString('hex');
  const { against } = request;
  const sourcesOf = against ?? (await readSourcesOf(database, request.seriesIds));
  const sources = distinctSources(request.seriesIds, sourcesOf);
  const parts = inProcessWorkers(context, null, { sources, run });
  const startedMs = context.clock.now();
  const ledger = ledgerMinutes(database, {
    sinceMs: startedMs,
    keptMs: ledgerMs,
    seriesIds: request.seriesIds,
  });
  const plan = request.windows[Symbol.iterator]();
  /** Queued windows by series and range. */
  const waiting = new Map<string, Entry>();
  const rests: Entry[] = [];
  type Refusal = Pick<CommandResult, 'kind' | 'message'>;
  const unknown = new Map<number, Refusal>();
  /** Of the sources that accept no request for long, or whose credits do not suffice. */
  const bans = new Map<SourceName, Refusal>();
  const sourceOf = ({ seriesId }: { readonly seriesId: number }) => sourcesOf.get(seriesId)?.source ?? null;
  let isPlanned = false;
  const differing: RecheckedWindow[] = [];
  const unanswered: RecheckedWindow[] = [];
  let settled = 0;

  function settle(open: Open): void {
    settled += 1;
    if (countDiffering(open) > 0) differing.push(open);
    if (open.message !== null) unanswered.push(open);
    request.onSettled(open);
  }

  function receive(answer: CommandResult): void {
    const entry = waiting.get(keyOf(answer));
    if (entry === undefined) return;
    waiting.delete(keyOf(answer));
    const { piece, open } = entry;
    for (const count of summed) open[count] += answer[count];
    if (answer.kind === emptiedKind && entry.emptied < maxEmptied) {
      rests.push({ piece, open, emptied: entry.emptied + 1 });
      return;
    }
    if (answer.reached === null && answer.kind === unboundedKind && piece.requested !== undefined) {
      const { requested: _, ...alone } = piece;
      rests.push({ piece: alone, open, emptied: 0 });
      return;
    }
    if (answer.reached === null) {
      ({ kind: open.kind, message: open.message } = answer);
      if (answer.kind === 'not_found') unknown.set(piece.seriesId, answer);
    } else {
      open.reached.push(answer.reached);
      open.kind = answer.kind ?? open.kind;
      open.message = answer.message ?? open.message;
      for (const range of subtract([piece], [answer.reached])) {
        const { requested: _, ...alone } = piece;
        const rest = witnessed({ ...alone, ...range });
        rests.push({ piece: rest, open, emptied: 0 });
        open.pieces += 1;
      }
    }
    open.pieces -= 1;
    if (open.pieces === 0) settle(open);
  }

  /** A month of an archive is a file: no witness can be beside it. */
  const isArchive = [...(against?.values() ?? [])].some((source) => source.isArchive);
  const witnessed = (window: Window) =>
    isArchive ? window : withWitnesses(window, request.longestRangeMs(window.series));

  function otherSource(seriesId: number): Pick<Window, 'isAgainst' | 'symbol'> {
    const symbol = against?.get(seriesId)?.symbol;
    return symbol === undefined ? {} : { isAgainst: true, symbol };
  }

  /** Ends a piece without an answer. */
  function leave(entry: Entry, refusal: Refusal): void {
    waiting.set(keyOf(entry.piece), entry);
    receive({ ...noResult, ...entry.piece, ...refusal });
  }

  /** Leaves what waits for a source that pauses for long. @returns the longest pause of the others. */
  async function leaveBanned(queues: QueueBackend): Promise<number> {
    let longestMs = 0;
    for (const source of sources.filter((name) => !bans.has(name))) {
      const requests = queues.requestsOf(source);
      const pausedMs = await requests.pausedForMs();
      if (pausedMs <= longestPauseMs) {
        longestMs = Math.max(longestMs, pausedMs);
        continue;
      }
      const ban = { kind: 'rate_limited', message: banText(source, context.clock.now() + pausedMs) };
      bans.set(source, ban);
      await requests.dropRun(run);
      for (const entry of [...waiting.values()]) if (sourceOf(entry.piece) === source) leave(entry, ban);
    }
    return longestMs;
  }

  /** What is used of the credits of each source that has any, with the expected cost of windows that wait for their answers. */
  async function readCredits() {
    const credits = new Map<SourceName, { used: number; readonly name: string; readonly limit: Limit }>();
    const configured = await context.sources();
    for (const source of sources) {
      const { name, longLimit: limit } = configured.get(source ?? '') ?? {};
      if (name === undefined || limit == null) continue;
      const sinceMs = context.clock.now() - limit.periodMs;
      const { used } = await costSince(database, name, { sinceMs, bytesEach: limit.bytesEach });
      const ahead = [...waiting.values()].filter(({ piece }) => sourceOf(piece) === source);
      const expected = ahead.reduce((sum, { piece }) => sum + windowCost(limit, piece), 0);
      credits.set(source, { used: used + expected, name, limit });
    }
    return credits;
  }

  /** The next piece that the credits of its source allow. */
  function nextAffordable(credits: Awaited<ReturnType<typeof readCredits>>): Entry | null {
    for (;;) {
      const next = nextPiece();
      const account = next === null ? undefined : credits.get(sourceOf(next.piece));
      if (next === null || account === undefined) return next;
      const { name, limit, used } = account;
      const cost = windowCost(limit, next.piece);
      if (used + cost <= limit.amount) {
        account.used += cost;
        return next;
      }
      const refusal = { kind: 'rate_limited', message: creditsText(name, limit, used, cost) };
      bans.set(sourceOf(next.piece), refusal);
      leave(next, refusal);
    }
  }

  function nextPiece(): Entry | null {
    for (;;) {
      const rest = rests.shift();
      if (rest !== undefined) {
        const ban = bans.get(sourceOf(rest.piece));
        if (ban === undefined) return rest;
        leave(rest, ban);
        continue;
      }
      const next = plan.next();
      if (next.done) {
        isPlanned = true;
        return null;
      }
      const window = next.value;
      const open: Open = { ...noResult, window, reached: [], pieces: 1 };
      const refused = unknown.get(window.seriesId) ?? bans.get(sourceOf(window));
      const { requested: _, ...alone } = window;
      const asked = {
        ...(isArchive ? alone : window),
        lane: request.lane,
        run,
        ...otherSource(window.seriesId),
      };
      if (refused === undefined) return { piece: asked, open, emptied: 0 };
      settle({ ...open, kind: refused.kind, message: refused.message });
    }
  }

  async function poll(): Promise<{ readonly isWhole: boolean } | null> {
    context.assertFreeSpace();
    const queues = await parts.ensure(true);
    // Read claims before results: a window that ends in between is then still queued, not lost.
    const requests = joinQueues(queues, sources, sourcesOf);
    const claimed = await requests.claimedWindows();
    for (const answer of await consumeResults(database, run)) receive(answer);
    const pausedMs = await leaveBanned(queues);
    const queued = new Set<string>();
    for (const [seriesId, windows] of claimed.windows) {
      for (const window of windows) if (window.run === run) queued.add(keyOf({ seriesId, ...window }));
    }
    const lost = [...waiting].filter(([key]) => !queued.has(key)).map(([, { piece }]) => piece);
    const { refresh, backfill, probe, reread, repair, verify } = claimed.load;
    const added = [...lost];
    if (!request.signal.aborted) {
      const room = commandSlots({ requestsPerMinute, queued: repair + verify });
      const credits = await readCredits();
      while (added.length < room) {
        const next = nextAffordable(credits);
        if (next === null) break;
        waiting.set(keyOf(next.piece), next);
        added.push(next.piece);
      }
      await requests.addWindows(added);
    }
    request.progress.update({
      done: settled,
      of: request.count,
      perMinute: requestsPerMinute,
      pausedMs,
      ahead: refresh + backfill + probe + reread,
    });
    if (request.signal.aborted) return { isWhole: false };
    if (isPlanned && waiting.size === 0 && rests.length === 0) return { isWhole: true };
    await assertNoServiceMessage(context, { startedMs, pausedMs });
    const [only, ...others] = sources;
    const named = others.length === 0 ? (only ?? undefined) : undefined;
    assertSourceUsable(tallyFetches(await ledger.read(context.clock.now())), named);
    if (others.length === 0)
      await assertNotRefused(context, (await context.sources()).get(named ?? '') ?? null, startedMs);
    return null;
  }

  try {
    await deleteUnreadResults(database, startedMs - dayMs);
    await parts.ensure(false);
    const { isWhole } = await pollUntil(context, 'requesting covered windows again', poll, request.signal);
    differing.sort((a, b) => a.window.seriesId - b.window.seriesId || a.window.startMs - b.window.startMs);
    const ranges = differing.flatMap(({ window: { seriesId }, reached }) =>
      reached.map((range) => ({ seriesId, ...range })),
    );
    const differences =
      ranges.length === 0 ? [] : await readDifferences(database, ranges, [...(against?.values() ?? [])][0]?.source);
    return { isWhole, differing, differences, unanswered };
  } finally {
    request.progress.stop();
    await parts.close();
  }
}

function keyOf(window: Range & { readonly seriesId: number }): string {
  return `${window.seriesId} ${window.startMs} ${window.endMs}`;
}
