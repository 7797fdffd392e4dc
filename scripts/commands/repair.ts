/** `tidemark repair [series-id...]`: requests countDiffering and old empty ranges again, and stores the answers. */

import type { Command } from 'commander';
import { intervalMs } from '../../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../../contract/series.ts';
import { TidemarkError } from '../../errors.ts';
import { counted, formatCount } from '../../format.ts';
import {
  type RecheckedWindow,
  readDifferencesOf,
  recheckWindows,
} from '../../operations/recheck/recheck-windows.ts';
import { refreshRollupsAtEnd } from '../../operations/refresh-rollups.ts';
import { probedSeries, probesAgain } from '../../planning/beginning.ts';
import { allWindows, type CoveredWindow, countWindows, windowsAround } from '../../planning/sample.ts';
import { longestRange, withWitnesses } from '../../planning/windows.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import { requireSource } from '../../runtime/pipeline.ts';
import { countDiffering, type Difference, readDifferingPeriods } from '../../store/recheck/differences.ts';
import { readOldEmptyRanges } from '../../store/recheck/reread.ts';
import { readLongestRanges } from '../../store/series/longest-ranges.ts';
import { parseAge } from '../input/parse-time.ts';
import { refuseUnknown, seriesIdsOf } from '../input/selectors.ts';
import { showWindowProgress } from '../output/progress.ts';
import {
  differenceJson,
  differencesText,
  refuseUnanswered,
  unansweredJson,
} from '../output/recheck-report.ts';

interface Options {
  readonly differences?: true;
  readonly emptyOlderThan?: string;
  readonly json?: true;
}

export function repairCommand(program: Command): void {
  program
    .command('repair')
    .argument('[series-id...]', 'ids of series, as `status` shows them (default: all)')
    .option('--differences', 'differences that `verify` found (default)')
    .option('--empty-older-than <age>', 'ranges that were confirmed empty longer ago than this: 30d, 8w')
    .option('--json', 'print the outcome as JSON')
    .action(run);
}

async function run(words: string[], options: Options): Promise<void> {
  const seriesIds = seriesIdsOf(words);
  const nowMs = Date.now();
  const age = options.emptyOlderThan;
  const sinceMs = age === undefined ? null : parseAge(age, '--empty-older-than', nowMs);
  await withContext(
    { command: 'repair', defaultLogLevel: 'error', handlesSignals: true },
    async (context, signal) => {
      requireSource(context.config);
      await refuseUnknown(context, seriesIds);
      const outcome = await repair(context, {
        seriesIds,
        differences: options.differences === true || sinceMs === null,
        sinceMs,
        signal: signal,
        quiet: options.json === true,
      });
      console.log(options.json ? JSON.stringify(repairJson(outcome), null, 2) : repairText(outcome));
      refuseRemaining(outcome);
    },
  );
}

interface Request {
  readonly seriesIds: readonly number[] | undefined;
  readonly differences: boolean;
  /** Empty ranges last requested before this time; null: none. */
  readonly sinceMs: number | null;
  readonly signal: AbortSignal;
  readonly quiet: boolean;
}

async function repair(context: Context, request: Request): Promise<Repair> {
  const { database, config } = context;
  const accepted = await readLongestRanges(database);
  const longestRangeMs = (series: SeriesKey) => longestRange(series, config.source.rangeLimits, accepted);
  const known = request.differences ? await readDifferingPeriods(database, request.seriesIds) : [];
  const ofDifferences = known.flatMap(({ seriesId, series, timesMs }): CoveredWindow[] =>
    windowsAround(timesMs, intervalMs[series.interval], longestRangeMs(series)).map((range) =>
      withWitnesses({ seriesId, series, ...range }, longestRangeMs(series)),
    ),
  );
  const empties =
    request.sinceMs === null ? [] : await readOldEmptyRanges(database, request.sinceMs, request.seriesIds);
  const probes = empties.flatMap(({ seriesId, series, before, knownMs }): CoveredWindow[] =>
    before.flatMap((range) =>
      [...probesAgain(range, knownMs, longestRangeMs(probedSeries(series)))].map((probe) => ({
        seriesId,
        series,
        ...probe,
        byDays: true,
      })),
    ),
  );
  const asked = {
    differences: ofDifferences.length,
    empties: countWindows(empties, longestRangeMs) + probes.length,
  };

  let answered = 0;
  let fresh = 0;
  let revised = 0;
  const remaining: RecheckedWindow[] = [];
  const unanswered: RecheckedWindow[] = [];
  const earlier = new Set<SeriesKey>();
  const total = asked.differences + asked.empties;
  const { isWhole } =
    total === 0
      ? { isWhole: true }
      : await recheckWindows(context, {
          lane: 'repair',
          windows: inOrder(ofDifferences, allWindows(empties, longestRangeMs), probes),
          count: total,
          longestRangeMs,
          seriesIds: [...known, ...empties].map(({ seriesId }) => seriesId),
          signal: request.signal,
          progress: showWindowProgress('repair', request.quiet),
          onSettled(settled) {
            fresh += settled.fresh;
            revised += settled.revised;
            if (settled.kind === 'overturned') earlier.add(settled.window.series);
            if (countDiffering(settled) > 0) remaining.push(settled);
            if (settled.message === null) answered += 1;
            else unanswered.push(settled);
          },
        });
  if (fresh + revised > 0) await refreshRollupsAtEnd(database, request.signal);
  const differences = await readDifferencesOf(database, remaining);
  return {
    asked,
    answered,
    fresh,
    revised,
    remaining,
    differences,
    unanswered,
    isWhole,
    earlier: [...earlier],
  };
}

function* inOrder(...lists: Iterable<CoveredWindow>[]): Generator<CoveredWindow> {
  for (const list of lists) yield* list;
}

export interface Repair {
  /** Requested windows: with differences, and confirmed empty. */
  readonly asked: { readonly differences: number; readonly empties: number };
  readonly answered: number;
  readonly fresh: number;
  readonly revised: number;
  /** Windows that still differ. */
  readonly remaining: readonly RecheckedWindow[];
  readonly differences: readonly Difference[];
  /** Series with points before their known beginning: the years before are gaps now. */
  readonly earlier: readonly SeriesKey[];
  readonly unanswered: readonly RecheckedWindow[];
  readonly isWhole: boolean;
}

function repairText(outcome: Repair): string {
  const { asked, answered, fresh, revised, remaining, differences } = outcome;
  if (asked.differences + asked.empties === 0) return 'no known differences: see `tidemark verify`';
  const what = [
    asked.differences > 0 ? `${counted(asked.differences, 'window')} with differences` : '',
    asked.empties > 0 ? `${counted(asked.empties, 'window')} confirmed empty` : '',
  ].filter((text) => text !== '');
  const lines = [
    ...differencesText(remaining, differences),
    `requested ${what.join(' and ')} again, ${formatCount(answered)} answered: ${counted(fresh, 'point')} new, ${formatCount(revised)} changed`,
  ];
  if (differences.length > 0)
    lines.push(`${counted(differences.length, 'point')} stored here and not at the source: kept`);
  for (const series of outcome.earlier)
    lines.push(`${seriesName(series)} begins earlier than known: the range before is missing now`);
  return lines.join('\n');
}

function repairJson(outcome: Repair) {
  return {
    asked: outcome.asked,
    answered: outcome.answered,
    fresh: outcome.fresh,
    revised: outcome.revised,
    remaining: differenceJson(outcome.remaining, outcome.differences),
    earlier: outcome.earlier,
    unanswered: unansweredJson(outcome.unanswered),
    interrupted: !outcome.isWhole,
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
}
