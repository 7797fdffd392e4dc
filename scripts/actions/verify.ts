/** `tidemark verify [series...]`: compares covered windows with the source, and changes nothing. */

import { TidemarkError } from '../../errors.ts';
import { counted, formatCount, formatSpan } from '../../model/format.ts';
import type { Range } from '../../model/ranges.ts';
import { seriesName } from '../../model/series.ts';
import { type Verification, verify } from '../../operations/recheck.ts';
import type { RecheckedWindow } from '../../operations/recheck-state.ts';
import { withContext } from '../../runtime/context.ts';
import { requireSources } from '../../runtime/pipeline.ts';
import { countDiffering } from '../../store/commit/differences.ts';
import { findSeries } from '../../store/status/series-history.ts';
import { userAtHost } from '../input/asked-by.ts';
import { commandCostJson, printCost } from '../output/cost-report.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showWindowProgress } from '../output/progress.ts';
import {
  differenceJson,
  differencesText,
  refuseUnanswered,
  unansweredJson,
  unansweredText,
} from '../output/recheck-report.ts';
import { noteOnStderr } from '../output/table.ts';

export interface Options {
  readonly within: Range | undefined;
  /** Number of windows, drawn at random; null: every covered window. */
  readonly sample: number | null;
  readonly isJson: boolean;
  /** Name of another source to compare with; null: each series' own. */
  readonly against: string | null;
}

export async function run(words: string[], { within, sample, isJson, against }: Options): Promise<void> {
  await withContext({ command: 'verify', needsDatabase: true, handlesSignals: true }, async (context, signal) => {
    if (against === null) await requireSources(context);
    const seriesIds = words.length === 0 ? undefined : await findSeries(context.database, words);
    const outcome = await verify(context, {
      ...{ seriesIds, within },
      sample,
      against,
      by: userAtHost(),
      signal,
      progress: () => showWindowProgress(context.clock, 'verify'),
      begins: isJson ? () => {} : printCost,
      note: noteOnStderr,
    });
    console.log(
      isJson ? JSON.stringify(verificationJson(outcome), null, 2) : verificationText(outcome, against, within),
    );
    refuseDifferences(outcome, against);
  });
}

function pointsOf(windows: readonly RecheckedWindow[]): number {
  return windows.reduce((sum, settled) => sum + countDiffering(settled), 0);
}

/** @param against null: the series' own sources. */
function verificationText(outcome: Verification, against: string | null, within: Range | undefined): string {
  const { windows, differing, rewritten, unanswered, differences } = outcome;
  if (windows === 0 && unanswered.length === 0) {
    return `nothing is covered yet${within === undefined ? '' : ` ${formatSpan(within)}`}`;
  }
  const lines = [
    ...differencesText(differing, differences, against ?? 'the source'),
    ...(windows === 0 ? [] : [comparedText(outcome, against)]),
  ];
  if (rewritten > 0)
    lines.push(
      against === null
        ? `${counted(rewritten, 'point')} equal as numbers with other digits (1.10, 1.1): kept as first received`
        : `${counted(rewritten, 'point')} equal to that tick, with other digits`,
    );
  const [first] = outcome.unbounded;
  if (first !== undefined) {
    const count = outcome.unbounded.length;
    const which = `${count === 1 ? '' : 'the first: '}${seriesName(first.series)} ${formatSpan(first)}`;
    lines.push(
      `${counted(count, 'window')} not verified: unbounded, the answer may be truncated, or is empty ` + `(${which})`,
    );
  }
  if (outcome.rejected > 0)
    lines.push(`${counted(outcome.rejected, 'rejected row')} in quarantine: their periods were not compared`);
  return [...lines, ...unansweredText(unanswered, 'compared')].join('\n');
}

function comparedText(
  { windows, requested, compared, points, differing, isWhole }: Verification,
  against: string | null,
): string {
  const drawn = requested < windows ? ` (${formatCount(requested)} drawn)` : '';
  const all = `${counted(windows, 'covered window')}${drawn}`;
  if (compared === 0) return `none of ${all} ${isWhole ? 'could be' : 'was'} compared${isWhole ? '' : ' so far'}`;
  const found =
    differing.length === 0
      ? `nothing differs${isWhole ? '' : ' so far'}`
      : `${counted(differing.length, 'window')} differ${differing.length === 1 ? 's' : ''}, in ` +
        `${counted(pointsOf(differing), 'point')}`;
  // Of covered silence there is none.
  const ofPoints = points === 0 ? '' : `${counted(points, 'point')}, `;
  const how = against === null ? 'digit by digit' : 'to the tick of the coarser source';
  return `compared ${formatCount(compared)} of ${all}, ${ofPoints}${how}: ${found}`;
}

function verificationJson({
  isWhole,
  differing,
  differences,
  unanswered,
  cost,
  unbounded,
  ...counts
}: Verification): JsonDocument<'verify'> {
  return {
    ...counts,
    unbounded: unbounded.length,
    cost: commandCostJson(cost),
    differing: differing.length,
    differingPoints: pointsOf(differing),
    differences: differenceJson(differing, differences),
    unanswered: unansweredJson(unanswered),
    interrupted: !isWhole,
  };
}

/**
 * @param against name of the other source; null: each series' own.
 * @throws TidemarkError unless all requested windows were compared and are equal.
 */
function refuseDifferences(outcome: Verification, against: string | null): void {
  const { differing, unanswered, compared } = outcome;
  if (differing.length > 0) {
    throw new TidemarkError(
      'DIFFERENCES_FOUND',
      `${counted(pointsOf(differing), 'point')} in ${formatCount(differing.length)} of ` +
        `${counted(compared, 'compared window')} differ from ${against ?? 'the source'}`,
      against === null
        ? {}
        : {
            remedy:
              'nothing was changed; `select * from source_differences` lists them with both values; ' +
              '`tidemark repair` opens what is missing here, if this is a source of the series',
          },
    );
  }
  if (!outcome.isWhole) {
    throw new TidemarkError('INTERRUPTED', `stopped after ${counted(compared, 'window')}`, {
      remedy: 'run the same command again: it starts over',
    });
  }
  refuseUnanswered(unanswered, 'compared');
}
