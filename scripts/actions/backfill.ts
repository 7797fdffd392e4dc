/** `tidemark backfill candles|history ...`: tracks series and fetches a range until no gap is left. */

import { hasDatabase } from '../../embedded/home.ts';
import { TidemarkError } from '../../errors.ts';
import { counted, formatDuration, formatTime, isoTime, nonEmpty } from '../../model/format.ts';
import type { Selection } from '../../model/selection.ts';
import { type SeriesKey, seriesName } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import { runBackfill } from '../../operations/backfill/backfill.ts';
import type { BackfillOutcome } from '../../operations/backfill/outcome.ts';
import { atSource, withinRetention } from '../../operations/tracking/selection.ts';
import { estimateSelection, trackSelection } from '../../operations/tracking/track.ts';
import { toGoText } from '../../planning/progress.ts';
import { type Context, configFromEnvironment, withContext } from '../../runtime/context.ts';
import { assertDefaultSource } from '../../runtime/sources.ts';
import type { Config } from '../../settings/config.ts';
import { readNamedSeries } from '../../store/series/sources.ts';
import type { SelectingOptions } from '../input/selectors.ts';
import { showProgress } from '../output/backfill-progress.ts';
import { costJson, costText } from '../output/cost-report.ts';
import type { JsonDocument } from '../output/documents.ts';
import { noteOnStderr, printText } from '../output/table.ts';

export interface BackfillOptions extends SelectingOptions {
  readonly wait?: true;
  readonly acceptEmpty?: true;
  readonly acceptRejected?: true;
}

/** @throws TidemarkError unless the range is complete. */
export async function run(asked: Selection, options: BackfillOptions): Promise<void> {
  const config = configFromEnvironment();
  // Before an embedded database is created.
  if (asked.source === null && isNew(config)) await assertDefaultSource(config);
  await withContext({ command: 'backfill', handlesSignals: true, config }, async (context, signal) => {
    await assertSource(context, asked);
    const selection = await withinRetention(context, await atSource(context, asked), noteOnStderr);
    const ids: number[] = [];
    const newIds: number[] = [];
    for await (const { seriesId, change } of trackSelection(context, selection)) {
      ids.push(seriesId);
      if (change === 'created' || change === 'resumed') newIds.push(seriesId);
    }
    const outcome = await runBackfill(context, {
      seriesIds: ids,
      newIds,
      fromMs: selection.fromMs,
      toMs: selection.toMs,
      wait: options.wait === true,
      acceptEmpty: options.acceptEmpty === true,
      signal,
      progress: showProgress(context.clock),
    });
    const acceptRejected = options.acceptRejected === true;
    if (options.json) console.log(JSON.stringify(asJson(outcome)));
    else printText(lastLine(outcome, acceptRejected));
    if (outcome.interrupted) {
      throw new TidemarkError(
        'INTERRUPTED',
        outcome.rollups === 'stopped'
          ? 'stopped while the rollups were refreshed; every window is stored'
          : `stopped with ${toGoText(outcome.windowsLeft)}; fetched windows are stored`,
      );
    }
    if (outcome.refusal !== null) throw outcome.refusal;
    if (outcome.rejected > 0 && !acceptRejected)
      throw new TidemarkError(
        'ROWS_REJECTED',
        `${counted(outcome.rejected, 'row')} of the range rejected, and no point is stored of ` +
          `${outcome.rejected === 1 ? 'its period' : 'their periods'}; such as: ${outcome.rejectedFor}`,
      );
  });
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

/** Estimates the cost beside all tracked series, which share the budget. */
export async function estimate(asked: Selection, options: SelectingOptions): Promise<void> {
  await withContext({ command: 'backfill', defaultLogLevel: 'error' }, async (context) => {
    const selection = await withinRetention(context, await atSource(context, asked), noteOnStderr);
    const cost = await estimateSelection(context, selection);
    if (options.json) console.log(JSON.stringify(costJson(cost), null, 2));
    else printText(costText(cost));
  });
}

/** The result in one line: complete or not, what is missing, and the work done. */
export function lastLine(outcome: BackfillOutcome, acceptRejected: boolean): string {
  const work =
    `${counted(outcome.requests, 'request')}, ${counted(outcome.points, 'new point')}, ` +
    `${formatDuration(outcome.durationMs)}`;
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
