/**
 * `tidemark verify` compares covered windows with the source, and changes nothing. `tidemark repair` requests what
 * differs again, and stores the answers.
 */

import { systemClock } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import { counted, formatCount, formatSpan, nonEmpty } from '../../model/format.ts';
import type { Range } from '../../model/ranges.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { sum } from '../../model/sum.ts';
import { type Repair, repair, storedText, type Verification, verify } from '../../operations/recheck.ts';
import type { RecheckedWindow } from '../../operations/recheck-state.ts';
import { withContext } from '../../runtime/context.ts';
import { requireSources } from '../../runtime/pipeline.ts';
import { countDiffering } from '../../store/commit/differences.ts';
import { findSeries } from '../../store/status/series-history.ts';
import { userAtHost } from '../input/asked-by.ts';
import { parseAge } from '../input/parse-options.ts';
import { actedRange, type RangeOptions } from '../input/selectors.ts';
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

interface VerifyOptions {
  readonly within: Range | undefined;
  /** Number of windows, drawn at random; null: every covered window. */
  readonly sample: number | null;
  readonly isJson: boolean;
  /** Name of another source to compare with; null: each series' own. */
  readonly against: string | null;
}

export async function runVerify(words: string[], { within, sample, isJson, against }: VerifyOptions): Promise<void> {
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
  return sum(windows.map(countDiffering));
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

export interface RepairOptions extends Partial<RangeOptions> {
  readonly differences?: true;
  readonly removeAbsent?: true;
  readonly emptyOlderThan?: string;
  readonly json?: true;
}

export async function runRepair(words: string[], options: RepairOptions): Promise<void> {
  const nowMs = systemClock.now();
  const age = options.emptyOlderThan;
  const sinceMs = age === undefined ? null : parseAge(age, '--empty-older-than', nowMs);
  const within = actedRange(options, nowMs);
  await withContext({ command: 'repair', needsDatabase: true, handlesSignals: true }, async (context, signal) => {
    await requireSources(context);
    const seriesIds = words.length === 0 ? undefined : await findSeries(context.database, words);
    const outcome = await repair(context, {
      ...{ seriesIds, within },
      differences: options.differences === true || options.removeAbsent === true || sinceMs === null,
      removesAbsent: options.removeAbsent === true,
      sinceMs,
      by: userAtHost(),
      signal,
      begins: options.json ? () => {} : printCost,
      progress: () => showWindowProgress(context.clock, 'repair'),
    });
    console.log(options.json ? JSON.stringify(repairJson(outcome), null, 2) : repairText(outcome));
    refuseRemaining(outcome);
  });
}

function repairText(outcome: Repair): string {
  const { asked, answered, removed, differing, differences, missing } = outcome;
  const missed = missing.map(missingText);
  if (asked.differences + asked.empties === 0)
    return missed.length > 0 ? missed.join('\n') : 'no known differences: see `tidemark verify`';
  const what = nonEmpty([
    asked.differences > 0 ? `${counted(asked.differences, 'window')} with differences` : '',
    asked.empties > 0 ? `${counted(asked.empties, 'window')} confirmed empty` : '',
  ]);
  const kept = `${counted(differences.length, 'point')} stored here and not at the source: kept`;
  const changed = storedText(outcome);
  const more = [
    ...(differences.length > 0 ? [kept] : []),
    ...(removed > 0
      ? [`${counted(removed, 'point')} removed that the source does not have: requested again, and in revisions`]
      : []),
    ...unansweredText(outcome.unanswered, 'repaired'),
    ...outcome.earlier.map((one) => `${seriesName(one)} begins earlier than known: the range before is missing now`),
    ...missed,
  ];
  const stored = changed ?? (more.length === 0 ? 'nothing changed' : null);
  return [
    ...differencesText(differing, differences, 'the source'),
    `requested ${what.join(' and ')} again, ${answered === 0 ? 'none' : formatCount(answered)} answered` +
      `${stored === null ? '' : `: ${stored}`}`,
    ...more,
  ].join('\n');
}

function missingText({ series, source, points, isOpened }: Repair['missing'][number]): string {
  const which = points === 1 ? 'that is' : 'that are';
  return (
    `${seriesName(series)}: ${source} has ${counted(points, 'point')} ${which} not stored: ` +
    (isOpened
      ? 'missing now'
      : `kept so, since ${source} is no source of the series (its \`archive\`, or a further \`source\`)`)
  );
}

function repairJson({
  isWhole,
  differing,
  differences,
  unanswered,
  earlier,
  missing,
  cost,
  ...rest
}: Repair): JsonDocument<'repair'> {
  return {
    ...rest,
    cost: commandCostJson(cost),
    earlier: earlier.map(seriesJson),
    missing: missing.map(({ series, ...one }) => ({ ...one, series: seriesJson(series) })),
    remaining: differenceJson(differing, differences),
    unanswered: unansweredJson(unanswered),
    interrupted: !isWhole,
  };
}

/** @throws TidemarkError unless every window was answered and no difference is left. */
function refuseRemaining(outcome: Repair): void {
  const { unanswered, differences, answered } = outcome;
  if (!outcome.isWhole) {
    throw new TidemarkError('INTERRUPTED', `stopped after ${counted(answered, 'window')}`);
  }
  refuseUnanswered(unanswered, 'repaired');
  if (differences.length > 0) {
    throw new TidemarkError(
      'DIFFERENCES_REMAIN',
      `${counted(differences.length, 'stored point')} that the source does not have`,
    );
  }
  const [series] = outcome.earlier;
  if (series !== undefined) {
    throw new TidemarkError('GAPS_REMAIN', `${seriesName(series)} has points before its beginning`, {
      remedy: '`tidemark run` or `tidemark backfill` fetches them',
    });
  }
  const opened = sum(outcome.missing.map(({ isOpened, points }) => (isOpened ? points : 0)));
  if (opened > 0) {
    throw new TidemarkError('GAPS_REMAIN', `${counted(opened, 'point')} that another source of the series has`, {
      remedy: '`tidemark run` or `tidemark backfill` fetches them',
    });
  }
}
