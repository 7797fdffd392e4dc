/** What the dashboard shows and may do: the same operations as the commands of these names. */

import type {
  ActionContext,
  ActionPorts,
  ActionRequest,
  CostRequest,
  OfSeries,
  StatePorts,
} from '../dashboard/ports.ts';
import { TidemarkError } from '../errors.ts';
import { counted, formatCount, formatSpan } from '../model/format.ts';
import type { Selection } from '../model/selection.ts';
import { seriesName } from '../model/series.ts';
import { sum } from '../model/sum.ts';
import { cancelBackfill } from '../operations/backfill/cancel.ts';
import { listBackfills } from '../operations/backfill/list.ts';
import { commandCostText } from '../operations/command-cost.ts';
import type { ActedOn } from '../operations/command-range.ts';
import { sourcesToCompare } from '../operations/compared-sources.ts';
import type { OperationContext } from '../operations/context.ts';
import { costOfRepair, costOfVerify, repair, storedText, verify } from '../operations/recheck.ts';
import { costOfRetry, retriedText, retry } from '../operations/retry.ts';
import { countAll, readGapDivision } from '../operations/source-gaps.ts';
import { changeBudget, pauseSource, resumeSource } from '../operations/sources/orders.ts';
import { readStoredFacts } from '../operations/status/facts.ts';
import { atSource, noteNearNames, noteUnusedDefault, withinRetention } from '../operations/tracking/selection.ts';
import { estimateSelection, trackRecorded } from '../operations/tracking/track.ts';
import { diskInAll } from '../planning/estimate.ts';
import { countDiffering } from '../store/commit/differences.ts';
import { untrackSeries } from '../store/series/series.ts';
import { endPause, writePause } from '../store/settings/settings.ts';
import { findEach } from '../store/status/series-history.ts';

/** Entries of the list at the dashboard. */
const mostBackfills = 100;

export function statePorts(context: Parameters<typeof readStoredFacts>[0]): StatePorts {
  return {
    readFacts: (nowMs) => readStoredFacts(context, nowMs),
    readBackfills: (queue, nowMs) => listBackfills(context, queue, { nowMs, id: null, most: mostBackfills }),
    async readRequestCounter(nowMs) {
      const { divide } = await readGapDivision(context, nowMs);
      return (series, gaps) => countAll(divide(series, gaps));
    },
    sourcesToCompare: (one) => sourcesToCompare(context, one),
  };
}

export function actionPorts(given: OperationContext): ActionPorts {
  // The phases of a process belong to its commands.
  const context: OperationContext = { ...given, phase: () => null };
  return {
    act: (request, parts) => runAction(context, request, parts),
    costOf: async (request) => (await costOf(context, request)).map(commandCostText),
    async planTracking(asked) {
      const { selection, notes } = await resolve(context, asked);
      const { requests, points, durationMs, requestsPerMinute, disk } = await estimateSelection(context, selection);
      const diskBytes = diskInAll(disk, 'bytes');
      const series = selection.series.map(seriesName);
      return { series, notes, requests, points, durationMs, requestsPerMinute, diskBytes };
    },
  };
}

async function costOf(context: OperationContext, request: CostRequest) {
  const chosen = await actedOn(context, request);
  switch (request.action) {
    case 'retry':
      return costOfRetry(context, chosen, context.clock.now());
    case 'verify':
      return costOfVerify(context, { ...chosen, sample: request.sample, against: request.against });
    case 'repair':
      return costOfRepair(context, { ...chosen, differences: true, sinceMs: null });
  }
}

/** @throws TidemarkError UNKNOWN_SERIES */
async function actedOn(context: OperationContext, { series, within }: OfSeries): Promise<ActedOn> {
  return { within, seriesIds: series === undefined ? undefined : await findEach(context.database, series) };
}

async function runAction(
  context: OperationContext,
  request: ActionRequest,
  { by, signal, progress }: ActionContext,
): Promise<string> {
  const { database } = context;
  const begins = () => {};
  switch (request.action) {
    case 'retry': {
      return retriedText(await retry(context, await actedOn(context, request), begins));
    }
    case 'verify': {
      const { sample, against } = request;
      const notes: string[] = [];
      const ofVerify = {
        ...{ ...(await actedOn(context, request)), sample, against, by, begins },
        ...{ signal, progress: () => progress, note: (text: string) => void notes.push(text) },
      };
      const { compared, windows, differing, unanswered, unbounded, isWhole } = await verify(context, ofVerify);
      const points = sum(differing.map(countDiffering));
      return ended(isWhole, [
        `compared ${formatCount(compared)} of ${counted(windows, 'covered window')}` +
          `${against === null ? '' : ` with ${against}`}: ` +
          (points > 0
            ? `${counted(points, 'point')} differ`
            : compared === 0 && unanswered.length > 0
              ? 'nothing could be compared'
              : 'nothing differs'),
        ...(unbounded.length === 0 ? [] : [`${counted(unbounded.length, 'window')} unbounded, so not verified`]),
        ...(unanswered.length === 0 ? [] : [`${counted(unanswered.length, 'window')} could not be compared`]),
        ...notes,
      ]);
    }
    case 'repair': {
      const ofRepair = {
        ...{ ...(await actedOn(context, request)), by, begins, signal, progress: () => progress },
        ...{ differences: true, removesAbsent: false, sinceMs: null },
      };
      const { asked, answered, fresh, revised, differences, isWhole } = await repair(context, ofRepair);
      return ended(isWhole, [
        asked.differences === 0
          ? 'no difference is known: nothing was requested'
          : `requested ${counted(asked.differences, 'window')} with differences again, ${formatCount(answered)} ` +
            `answered: ${storedText({ fresh, revised }) ?? 'nothing changed'}`,
        ...(differences.length === 0 ? [] : [`${counted(differences.length, 'point')} still differ`]),
      ]);
    }
    case 'track': {
      const { selection, notes } = await resolve(context, request.selection);
      const lines: string[] = [];
      for (const { series, tracked, seriesId } of await trackRecorded(context, selection, by))
        lines.push(`${seriesName(series)} ${formatSpan(tracked)} (id ${seriesId})`);
      return [`tracking ${lines.join(', ')}`, ...notes].join('; ');
    }
    case 'untrack': {
      const [ended, before]: [string[], string[]] = [[], []];
      for (const seriesId of await findEach(context.database, request.series)) {
        const { series, untrackedMs } = await untrackSeries(database, seriesId, context.clock.now());
        (untrackedMs === null ? ended : before).push(seriesName(series));
      }
      return [
        ...(ended.length === 0 ? [] : [`no longer tracking ${namesText(ended)}`]),
        ...(before.length === 0
          ? []
          : [`${namesText(before)} ${before.length === 1 ? 'was' : 'were'} untracked before`]),
        'stored points stay',
      ].join('; ');
    }
    case 'cancel':
      return cancelBackfill(context, request.backfill, by);
    case 'pause':
      if (request.source !== undefined) return pauseSource(context, request.source, by);
      return (await writePause(database, { sinceMs: context.clock.now(), by }))
        ? 'paused: only requests under way end'
        : 'paused before';
    case 'budget':
      return changeBudget(context, { name: request.source, perMinute: request.perMinute, by });
    case 'resume':
      if (request.source !== undefined) return resumeSource(context, request.source);
      return (await endPause(database, context.clock.now())) ? 'resumed' : 'not paused';
  }
}

/** @throws TidemarkError INTERRUPTED when it was stopped. */
function ended(isWhole: boolean, parts: readonly string[]): string {
  if (isWhole) return parts.join(', ');
  throw new TidemarkError('INTERRUPTED', `stopped before its end: ${parts.join(', ')}`);
}

async function resolve(context: OperationContext, asked: Selection) {
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const selection = await withinRetention(context, await atSource(context, asked), note);
  await noteNearNames(context, selection, note);
  await noteUnusedDefault(context, selection, note);
  return { selection, notes };
}

/** Names in a sentence. */
const maxNamed = 5;

function namesText(names: readonly string[]): string {
  const others = names.length - maxNamed;
  return names.slice(0, maxNamed).join(', ') + (others > 0 ? ` and ${formatCount(others)} others` : '');
}
