/**
 * `tidemark backfill candles|history ...`: tracks series and fetches a range until no gap is left. `tidemark
 * backfills`: whatever asks for ranges, and how to end it.
 */

import { hasDatabase } from '../../embedded/home.ts';
import { badArgument, TidemarkError } from '../../errors.ts';
import { counted, formatDuration, formatTime, isoTime, nonEmpty } from '../../model/format.ts';
import type { Selection } from '../../model/selection.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { runBackfill } from '../../operations/backfill/backfill.ts';
import { cancelBackfill } from '../../operations/backfill/cancel.ts';
import { type Backfill, listBackfills } from '../../operations/backfill/list.ts';
import type { BackfillOutcome } from '../../operations/backfill/outcome.ts';
import { askedOf, type Recorded, recorded } from '../../operations/backfill/record.ts';
import { askQueues } from '../../operations/context.ts';
import { assertNotPaused } from '../../operations/source-health.ts';
import { awayHeadline } from '../../operations/status/facts.ts';
import { readQueueFacts } from '../../operations/status/queue-facts.ts';
import {
  atSource,
  noteNearNames,
  type SourcedSelection,
  withinRetention,
} from '../../operations/tracking/selection.ts';
import { estimateSelection, trackSelection } from '../../operations/tracking/track.ts';
import type { QueueFacts } from '../../planning/headline.ts';
import { toGoText } from '../../planning/progress.ts';
import { type Context, configFromEnvironment, withContext } from '../../runtime/context.ts';
import { assertDefaultSource } from '../../runtime/sources.ts';
import type { Config } from '../../settings/config.ts';
import type { BackfilledSeries } from '../../store/ledger/backfills.ts';
import { readNamedSeries, readNamedSources, sourcesInUse } from '../../store/series/sources.ts';
import { readLoweredBudgets } from '../../store/settings/source-orders.ts';
import { userAtHost } from '../input/asked-by.ts';
import type { SelectingOptions } from '../input/selectors.ts';
import { backfillJson, backfillsText, backfillText } from '../output/backfill-list.ts';
import { showProgress } from '../output/backfill-progress.ts';
import { costJson, costText } from '../output/cost-report.ts';
import type { JsonDocument } from '../output/documents.ts';
import { noteOnStderr, printText, terminalWidth } from '../output/table.ts';

export interface BackfillOptions extends SelectingOptions {
  readonly wait?: true;
  readonly acceptEmpty?: true;
  readonly acceptRejected?: true;
}

/** @throws TidemarkError unless the range is complete. */
export async function run(asked: Selection, options: BackfillOptions): Promise<void> {
  const config = configFromEnvironment();
  const acceptRejected = options.acceptRejected === true;
  // Before an embedded database is created.
  if (asked.source === null && isNew(config)) await assertDefaultSource(config);
  await withContext({ command: 'backfill', handlesSignals: true, config }, async (context, signal) => {
    await assertSource(context, asked);
    const selection = await withinRetention(context, await atSource(context, asked), noteOnStderr);
    await assertAskable(context, selection);
    const series: BackfilledSeries[] = [];
    const newIds: number[] = [];
    for await (const tracked of trackSelection(context, selection)) {
      const fromMs = selection.trackFromMs(tracked.series);
      const at = { nowMs: context.clock.now(), graceMs: context.config.worker.graceMs };
      series.push(askedOf(tracked, { fromMs, toMs: selection.toMs }, at));
      if (tracked.before === null) newIds.push(tracked.seriesId);
    }
    const backfill = async (record: Recorded): Promise<BackfillOutcome> => {
      const outcome = await runBackfill(context, {
        id: record.id,
        ...{ series, newIds },
        wait: options.wait === true,
        acceptEmpty: options.acceptEmpty === true,
        signal: record.signal,
        look: record.look,
        progress: showProgress(context.clock),
      });
      // Stopped, but not by Ctrl-C: the error says so.
      const isCancelled = outcome.interrupted && !signal.aborted;
      if (options.json) console.log(JSON.stringify(asJson(outcome)));
      else printText(isCancelled ? `stored until then: ${workText(outcome)}` : lastLine(outcome, acceptRejected));
      assertComplete(outcome, acceptRejected);
      return outcome;
    };
    const record = { kind: 'backfill', by: userAtHost(), series, signal } as const;
    await recorded(context, record, backfill, (outcome) => lastLine(outcome, acceptRejected));
  });
}

/** @throws TidemarkError unless the range is complete. */
function assertComplete(outcome: BackfillOutcome, acceptRejected: boolean): void {
  if (outcome.interrupted)
    throw new TidemarkError(
      'INTERRUPTED',
      outcome.rollups === 'stopped'
        ? 'stopped while the rollups were refreshed; every window is stored'
        : `stopped with ${restText(outcome)}; fetched windows are stored`,
    );
  if (outcome.refusal !== null) throw outcome.refusal;
  if (outcome.rejected > 0 && !acceptRejected)
    throw new TidemarkError(
      'ROWS_REJECTED',
      `${counted(outcome.rejected, 'row')} of the range rejected, and no point is stored of ` +
        `${outcome.rejected === 1 ? 'its period' : 'their periods'}; such as: ${outcome.rejectedFor}`,
    );
}

/** What waits for a later attempt is no request to go. */
function restText({ windowsLeft, missing, awaiting }: BackfillOutcome): string {
  const ranges = missing + awaiting;
  return windowsLeft === 0 && ranges > 0 ? `${counted(ranges, 'range')} missing` : toGoText(windowsLeft);
}

function isNew({ database, directory }: Config): boolean {
  return database.url === undefined && !hasDatabase(directory);
}

/** @throws TidemarkError BAD_CONFIGURATION when a series needs SOURCE_URL, which is not set. */
async function assertSource({ config, database }: Context, { source, series }: Selection): Promise<void> {
  if (source !== null) return;
  const named = await readNamedSeries(database);
  const sourceOf = (key: SeriesKey) => named.get(seriesName(key)) ?? defaultSource;
  if (series.some((key) => sourceOf(key) === defaultSource)) await assertDefaultSource(config);
}

/** @throws TidemarkError PAUSED while every source of a series is paused: then nothing is tracked, or recorded. */
async function assertAskable(context: Context, { series, sources }: SourcedSelection): Promise<void> {
  const named = await readNamedSources(context.database, context.clock.now());
  const sourcesOf = (key: SeriesKey) => sources ?? named.get(seriesName(key)) ?? [{ source: defaultSource }];
  await assertNotPaused(
    context,
    series.map((key) => sourcesOf(key).map(({ source }) => source)),
  );
}

/** Estimates the cost beside all tracked series, which share the budget. */
export async function estimate(asked: Selection, options: SelectingOptions): Promise<void> {
  await withContext({ command: 'backfill', defaultLogLevel: 'error' }, async (context) => {
    const selection = await withinRetention(context, await atSource(context, asked), noteOnStderr);
    await noteNearNames(context, selection, noteOnStderr, '');
    const cost = await estimateSelection(context, selection);
    if (options.json) console.log(JSON.stringify(costJson(cost), null, 2));
    else printText(costText(cost));
  });
}

/** The result in one line: complete or not, what is missing, and the work done. */
export function lastLine(outcome: BackfillOutcome, acceptRejected: boolean): string {
  const work = workText(outcome);
  if (outcome.interrupted) return `interrupted: ${work}`;
  const rejected = `${counted(outcome.rejected, 'rejected row')} in quarantine`;
  const lacking = nonEmpty([
    outcome.missing > 0 ? `${counted(outcome.missing, 'range')} missing` : '',
    outcome.awaiting > 0 ? awaitingText(outcome) : '',
    outcome.rejected > 0 && !acceptRejected ? rejected : '',
  ]);
  const silent =
    outcome.withoutPoints.length === 0
      ? ''
      : `; no point was ever returned for ${outcome.withoutPoints.join(', ')}: is the name right?`;
  const accepted = outcome.rejected > 0 && acceptRejected ? `; ${rejected}` : '';
  const rollups = outcome.rollups === 'left' ? '; the rollups follow within the hour' : '';
  const once = outcome.accepted > 0 ? `; ${counted(outcome.accepted, 'range')} accepted as empty after one answer` : '';
  const rest = `${work}${once}${accepted}${silent}${rollups}`;
  if (lacking.length > 0) return `not complete: ${lacking.join(', ')}; ${rest}`;
  return `${outcome.requests === 0 ? 'nothing was missing' : 'complete'}: ${rest}`;
}

function workText({ requests, points, durationMs }: BackfillOutcome): string {
  return `${counted(requests, 'request')}, ${counted(points, 'new point')}, ${formatDuration(durationMs)}`;
}

function awaitingText({ awaiting, awaitingUntilMs }: BackfillOutcome): string {
  const due = awaitingUntilMs === null ? '' : `, due ${formatTime(Math.ceil(awaitingUntilMs / 1000) * 1000)}`;
  return `${counted(awaiting, 'range')} came back empty, to be asked again${due}`;
}

function asJson({
  refusal: _,
  rejectedFor: _reason,
  awaitingUntilMs,
  ...outcome
}: BackfillOutcome): JsonDocument<'backfill'> {
  return { ...outcome, awaitingUntil: isoTime(awaitingUntilMs) };
}

/** Entries of a list. */
const most = 50;

export async function list(options: { json?: true }): Promise<void> {
  await withContext({ command: 'backfills', needsDatabase: true }, async (context) => {
    const found = await readBackfills(context, null);
    if (options.json) console.log(JSON.stringify(found.map(backfillJson), null, 2));
    else console.log(backfillsText(found, terminalWidth()));
  });
}

/** @throws TidemarkError UNKNOWN_BACKFILL */
export async function show(id: string, options: { json?: true }): Promise<void> {
  await withContext({ command: 'backfills', needsDatabase: true }, async (context) => {
    const [found] = await readBackfills(context, idOf(id));
    if (found === undefined) throw new TidemarkError('UNKNOWN_BACKFILL', `no backfill has the id ${id}`);
    console.log(options.json ? JSON.stringify(backfillJson(found), null, 2) : backfillText(found));
  });
}

/** @throws TidemarkError UNKNOWN_BACKFILL; BAD_ARGUMENT when it has ended, or is the watch list's. */
export async function cancel(id: string): Promise<void> {
  await withContext({ command: 'backfills', needsDatabase: true }, async (context) => {
    console.log(await cancelBackfill(context, idOf(id), userAtHost()));
  });
}

async function readBackfills(context: Context, id: number | null): Promise<Backfill[]> {
  const inUse = await sourcesInUse(context.database);
  const lowered = await readLoweredBudgets(context.database);
  const queue = await askQueues<QueueFacts | null>(
    context,
    (queues) => readQueueFacts(context, queues, inUse, lowered),
    (error) => {
      noteOnStderr(awayHeadline(error).text);
      return null;
    },
  );
  return listBackfills(context, queue, { nowMs: context.clock.now(), id, most });
}

function idOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badArgument(`${JSON.stringify(text)} is not the id of a backfill`);
}
