/** What the dashboard may do: the same operations as the commands of these names. */

import { TidemarkError } from '../../errors.ts';
import { counted, formatCount, formatSpan } from '../../model/format.ts';
import { seriesName } from '../../model/series.ts';
import { countDiffering } from '../../store/commit/differences.ts';
import { retryNow } from '../../store/commit/retry-now.ts';
import { untrackSeries } from '../../store/series/series.ts';
import { writePause } from '../../store/settings/settings.ts';
import { findSeries } from '../../store/status/series-history.ts';
import type { OperationContext } from '../context.ts';
import type { PlanCost } from '../estimate.ts';
import type { WindowProgress } from '../progress.ts';
import { repair } from '../recheck/repair.ts';
import { verify } from '../recheck/verify.ts';
import { atSource, type Selection, withinRetention } from '../tracking/selection.ts';
import { estimateSelection, trackSelection } from '../tracking/track.ts';

/** Ids or names of series; absent: every tracked one. */
interface OfSeries {
  readonly series?: readonly string[] | undefined;
}

export type ActionRequest =
  | ({ readonly action: 'retry' | 'repair' } & OfSeries)
  /** @param sample number of windows, drawn at random; null: all. */
  | ({ readonly action: 'verify'; readonly sample: number | null } & OfSeries)
  | { readonly action: 'track'; readonly selection: Selection }
  | { readonly action: 'untrack'; readonly series: readonly string[] }
  | { readonly action: 'pause' | 'resume' };

export interface ActionParts {
  /** Who asks for it. */
  readonly by: string;
  readonly signal: AbortSignal;
  readonly progress: WindowProgress;
}

/** @returns the result in a sentence. @throws TidemarkError when it cannot be done. */
export async function runAction(
  context: OperationContext,
  request: ActionRequest,
  { by, signal, progress }: ActionParts,
): Promise<string> {
  const { database } = context;
  const idsOf = async ({ series }: OfSeries) =>
    series === undefined || series.length === 0 ? undefined : findEach(context, series);
  switch (request.action) {
    case 'retry': {
      const { windows, series } = await retryNow(database, context.clock.now(), await idsOf(request));
      return `${counted(windows, 'range')} and ${formatCount(series)} refused series can be requested now`;
    }
    case 'verify': {
      const { sample } = request;
      const seriesIds = await idsOf(request);
      const ofVerify = { seriesIds, sample, against: null, signal, progress: () => progress, note: () => {} };
      const { compared, windows, differing, unanswered, isWhole } = await verify(context, ofVerify);
      const points = differing.reduce((sum, settled) => sum + countDiffering(settled), 0);
      return ended(isWhole, [
        `compared ${formatCount(compared)} of ${counted(windows, 'covered window')}: ${points === 0 ? 'nothing differs' : `${counted(points, 'point')} differ`}`,
        ...(unanswered.length === 0 ? [] : [`${counted(unanswered.length, 'window')} could not be compared`]),
      ]);
    }
    case 'repair': {
      const seriesIds = await idsOf(request);
      const ofRepair = { seriesIds, differences: true, sinceMs: null, signal, progress: () => progress };
      const { asked, answered, fresh, revised, differences, isWhole } = await repair(context, ofRepair);
      return ended(isWhole, [
        `requested ${counted(asked.differences, 'window')} with differences again, ${formatCount(answered)} answered: ${counted(fresh, 'point')} new, ${formatCount(revised)} changed`,
        ...(differences.length === 0 ? [] : [`${counted(differences.length, 'point')} still differ`]),
      ]);
    }
    case 'track': {
      const { selection, notes } = await resolve(context, request.selection);
      const lines: string[] = [];
      for await (const { series, tracked, seriesId } of trackSelection(context, selection))
        lines.push(`${seriesName(series)} ${formatSpan(tracked)} (id ${seriesId})`);
      return [`tracking ${lines.join(', ')}`, ...notes].join('; ');
    }
    case 'untrack': {
      const [ended, before]: [string[], string[]] = [[], []];
      for (const seriesId of await findEach(context, request.series)) {
        const { series, untrackedMs } = await untrackSeries(database, seriesId, context.clock.now());
        (untrackedMs === null ? ended : before).push(seriesName(series));
      }
      return [
        ...(ended.length === 0 ? [] : [`no longer tracking ${ended.join(', ')}`]),
        ...(before.length === 0
          ? []
          : [`${before.join(', ')} ${before.length === 1 ? 'was' : 'were'} untracked before`]),
        'stored points stay',
      ].join('; ');
    }
    case 'pause':
      return (await writePause(database, { sinceMs: context.clock.now(), by }))
        ? 'paused: only requests under way end'
        : 'paused before';
    case 'resume':
      return (await writePause(database, null)) ? 'resumed' : 'not paused';
  }
}

/** @throws TidemarkError INTERRUPTED when it was stopped. */
function ended(isWhole: boolean, parts: readonly string[]): string {
  if (isWhole) return parts.join(', ');
  throw new TidemarkError('INTERRUPTED', `stopped before its end: ${parts.join(', ')}`);
}

/** The cost of tracking a selection. Nothing is tracked. @throws TidemarkError when it cannot be tracked. */
export async function planTracking(
  context: OperationContext,
  asked: Selection,
): Promise<{
  readonly series: readonly string[];
  readonly cost: PlanCost;
  readonly notes: readonly string[];
}> {
  const { selection, notes } = await resolve(context, asked);
  const cost = await estimateSelection(context, selection);
  return { series: selection.series.map(seriesName), cost, notes };
}

async function resolve(context: OperationContext, asked: Selection) {
  const notes: string[] = [];
  const selection = await withinRetention(context, await atSource(context, asked), (text) => notes.push(text));
  return { selection, notes };
}

/** Each word is an id or a whole name. */
async function findEach({ database }: OperationContext, words: readonly string[]): Promise<number[]> {
  const ids: number[] = [];
  for (const word of words) ids.push(...(await findSeries(database, [word])));
  return [...new Set(ids)];
}
