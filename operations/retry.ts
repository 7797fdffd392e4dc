/** Deferred windows and refused series are requested now: for the command and the dashboard. */

import { counted, formatCount } from '../model/format.ts';
import { seriesName } from '../model/series.ts';
import { readRetried, retryNow } from '../store/commit/retry-now.ts';
import { readSourceLists } from '../store/series/sources.ts';
import { type CommandCost, costOfCommand } from './command-cost.ts';
import { type ActedOn, assertTracked } from './command-range.ts';
import type { OperationContext } from './context.ts';
import { readGapDivision } from './source-gaps.ts';

/** @param begins is told what the requests will cost before anything is due. @returns what is due now, and the cost. */
export async function retry(context: OperationContext, chosen: ActedOn, begins: (cost: CommandCost[]) => void) {
  const { clock, database } = context;
  await assertTracked(context, chosen);
  const nowMs = clock.now();
  const cost = await costOfRetry(context, chosen, nowMs);
  begins(cost);
  return { ...(await retryNow(database, nowMs, chosen)), cost };
}

/** The result in words. */
export function retriedText(counts: { windows: number; series: number; dueBefore: number }): string {
  const { windows, series, dueBefore } = counts;
  const found = [
    ...(windows === 0 ? [] : [counted(windows, 'range')]),
    ...(series === 0 ? [] : [`${formatCount(series)} refused series`]),
  ];
  if (found.length > 0) return `${found.join(' and ')} can be requested now`;
  if (dueBefore === 0) return 'nothing to retry: no range waits for its next attempt';
  const are =
    dueBefore === 1 ? 'is due already: `gaps` says what it waits' : 'are due already: `gaps` says what they wait';
  return `nothing to retry: ${counted(dueBefore, 'range')} that failed ${are} for`;
}

/** What {@link retry} would cost. */
export async function costOfRetry(context: OperationContext, chosen: ActedOn, nowMs: number): Promise<CommandCost[]> {
  const retried = await readRetried(context.database, nowMs, chosen);
  if (retried.length === 0) return [];
  // No source of them lacks or refuses anything afterwards.
  const lists = await readSourceLists(
    context.database.pool,
    retried.map(({ seriesId }) => seriesId),
  );
  const named = retried.map(({ seriesId, series }) => [seriesName(series), lists.get(seriesId) ?? []] as const);
  const { divide } = await readGapDivision(context, nowMs, new Map(named));
  const asked = retried.flatMap(({ series, ranges }) =>
    divide(series, ranges).parts.map(({ source, gaps, windows }) => ({
      ...{ source: source.name, series, ranges: gaps, windows },
    })),
  );
  return costOfCommand(context, asked, 'backfill');
}
