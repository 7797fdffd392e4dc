import { systemClock } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import { counted, formatCount, nonEmpty } from '../../model/format.ts';
import { seriesJson, seriesName } from '../../model/series.ts';
import { type Repair, repair, storedText } from '../../operations/recheck.ts';
import { withContext } from '../../runtime/context.ts';
import { requireSources } from '../../runtime/pipeline.ts';
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

export interface Options extends Partial<RangeOptions> {
  readonly differences?: true;
  readonly removeAbsent?: true;
  readonly emptyOlderThan?: string;
  readonly json?: true;
}

export async function run(words: string[], options: Options): Promise<void> {
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
  const opened = outcome.missing.filter(({ isOpened }) => isOpened).reduce((sum, { points }) => sum + points, 0);
  if (opened > 0) {
    throw new TidemarkError('GAPS_REMAIN', `${counted(opened, 'point')} that another source of the series has`, {
      remedy: '`tidemark run` or `tidemark backfill` fetches them',
    });
  }
}
