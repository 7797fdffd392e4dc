/** `tidemark verify [series...]`: compares covered windows with the source, and changes nothing. */

import { TidemarkError } from '../../errors.ts';
import { counted, formatCount } from '../../format.ts';
import { readRangeLimits } from '../../operations/context.ts';
import { comparedWith } from '../../operations/recheck/other-source.ts';
import { type RecheckedWindow, recheckWindows } from '../../operations/recheck/recheck-windows.ts';
import type { Range } from '../../planning/ranges.ts';
import { allWindows, type CoveredSeries, countWindows, sampleWindows } from '../../planning/sample.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import { requireSources } from '../../runtime/pipeline.ts';
import { countRejected } from '../../store/ledger/quarantine.ts';
import { countDiffering } from '../../store/recheck/differences.ts';
import { unboundedKind } from '../../store/recheck/verification.ts';
import { readCoveredRanges } from '../../store/series/ranges.ts';
import { findSeries } from '../../store/series/series-history.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showWindowProgress } from '../output/progress.ts';
import {
  differenceJson,
  differencesText,
  refuseUnanswered,
  unansweredJson,
} from '../output/recheck-report.ts';

export interface Options {
  /** Number of windows, drawn at random; null: every covered window. */
  readonly sample: number | null;
  readonly isJson: boolean;
  /** Name of another source to compare with; null: each series' own. */
  readonly against: string | null;
}

export async function run(words: string[], { sample, isJson, against }: Options): Promise<void> {
  await withContext(
    { command: 'verify', defaultLogLevel: 'error', handlesSignals: true },
    async (context, signal) => {
      if (against === null) await requireSources(context);
      const seriesIds = words.length === 0 ? undefined : await findSeries(context.database, words);
      const outcome = await verify(context, {
        seriesIds,
        sample,
        against,
        signal,
      });
      console.log(isJson ? JSON.stringify(verificationJson(outcome), null, 2) : verificationText(outcome));
      refuseDifferences(outcome, against ?? 'the source');
    },
  );
}

type Verification = Awaited<ReturnType<typeof verify>>;

async function verify(
  context: Context,
  request: {
    seriesIds: number[] | undefined;
    sample: number | null;
    against: string | null;
    signal: AbortSignal;
  },
) {
  const { database } = context;
  const all = await readCoveredRanges(database, request.seriesIds);
  const other = request.against === null ? null : await comparedWith(context, request.against, all);
  for (const line of other?.notes ?? []) console.error(`tidemark: ${line}`);
  const covered = other?.covered ?? all;
  const longestRangeMs = other?.longestRangeMs ?? (await readRangeLimits(context));
  const windows = countWindows(covered, longestRangeMs);
  const wanted = Math.min(windows, request.sample ?? windows);
  const counts = {
    /** Completely compared windows. */
    compared: 0,
    /**
     * Windows that are not verified: no row bounds the silence at the edge of the answer, so it may be truncated. Differing
     * points elsewhere in them count.
     */
    unbounded: 0,
    points: 0,
    rewritten: 0,
  };
  const outcome = await recheckWindows(context, {
    lane: 'verify',
    windows:
      request.sample === null
        ? allWindows(covered, longestRangeMs)
        : sampleWindows(covered, longestRangeMs, wanted, Math.random),
    count: wanted,
    longestRangeMs,
    against: other?.symbols,
    seriesIds: covered.map(({ seriesId }) => seriesId),
    signal: request.signal,
    progress: showWindowProgress('verify'),
    onSettled(settled) {
      counts.points += settled.points;
      counts.rewritten += settled.rewritten;
      if (settled.message !== null) return;
      if (settled.kind === unboundedKind) counts.unbounded += 1;
      else counts.compared += 1;
    },
  });
  /** Rejected rows of the covered ranges: there is nothing to compare of their periods. */
  const rejected = await countRejected(database, new Map(covered.map(hullOf)));
  return { windows, ...counts, rejected, ...outcome };
}

function pointsOf(windows: readonly RecheckedWindow[]): number {
  return windows.reduce((sum, settled) => sum + countDiffering(settled), 0);
}

function verificationText(outcome: Verification): string {
  const { windows, compared, points, differing, rewritten, unanswered, differences } = outcome;
  if (windows === 0) return 'nothing is covered yet';
  const found =
    differing.length === 0
      ? `nothing differs${outcome.isWhole ? '' : ' so far'}`
      : `${counted(differing.length, 'window')} differ${differing.length === 1 ? 's' : ''}, in ${counted(pointsOf(differing), 'point')}`;
  const lines = [
    ...differencesText(differing, differences),
    `compared ${formatCount(compared)} of ${counted(windows, 'covered window')}, ${counted(points, 'point')}, digit by digit: ${found}`,
  ];
  if (rewritten > 0)
    lines.push(
      `${counted(rewritten, 'point')} equal as numbers with other digits (1.10, 1.1): kept as first received`,
    );
  if (outcome.unbounded > 0)
    lines.push(
      `${counted(outcome.unbounded, 'window')} not verified: unbounded, the answer may be truncated, or is empty`,
    );
  if (outcome.rejected > 0)
    lines.push(`${counted(outcome.rejected, 'rejected row')} in quarantine: their periods were not compared`);
  if (unanswered.length > 0) lines.push(`${counted(unanswered.length, 'window')} could not be compared`);
  return lines.join('\n');
}

function verificationJson({
  isWhole,
  differing,
  differences,
  unanswered,
  ...counts
}: Verification): JsonDocument<'verify'> {
  return {
    ...counts,
    differing: differing.length,
    differingPoints: pointsOf(differing),
    differences: differenceJson(differing, differences),
    unanswered: unansweredJson(unanswered),
    interrupted: !isWhole,
  };
}

/** @throws TidemarkError unless all requested windows were compared and are equal. */
function refuseDifferences(outcome: Verification, source: string): void {
  const { differing, unanswered, compared } = outcome;
  if (differing.length > 0) {
    throw new TidemarkError(
      'DIFFERENCES_FOUND',
      `${counted(pointsOf(differing), 'point')} in ${formatCount(differing.length)} of ${counted(compared, 'compared window')} differ from ${source}`,
    );
  }
  if (!outcome.isWhole) {
    throw new TidemarkError('INTERRUPTED', `stopped after ${counted(compared, 'window')}`, {
      remedy: 'run the same command again: it starts over',
    });
  }
  refuseUnanswered(unanswered, 'compared');
}

function hullOf({ seriesId, ranges }: CoveredSeries): [number, Range] {
  const [first = { startMs: 0, endMs: 0 }] = ranges;
  return [seriesId, { startMs: first.startMs, endMs: ranges.at(-1)?.endMs ?? first.endMs }];
}
