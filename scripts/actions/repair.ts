/** `tidemark repair [series...]`: requests differing and old empty ranges again, and stores the answers. */

import { intervalMs } from '../../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../../contract/series.ts';
import { TidemarkError } from '../../errors.ts';
import { counted, formatCount } from '../../format.ts';
import { readRangeLimits } from '../../operations/context.ts';
import { recheckWindows } from '../../operations/recheck/recheck-windows.ts';
import { refreshRollupsAtEnd } from '../../operations/refresh-rollups.ts';
import { probedSeries, probesAgain } from '../../planning/beginning.ts';
import { allWindows, type CoveredWindow, countWindows, windowsAround } from '../../planning/sample.ts';
import { withWitnesses } from '../../planning/windows.ts';
import { type Context, withContext } from '../../runtime/context.ts';
import { requireSources } from '../../runtime/pipeline.ts';
import { readDifferingPeriods } from '../../store/recheck/differences.ts';
import { readOldEmptyRanges } from '../../store/recheck/reread.ts';
import { findSeries } from '../../store/series/series-history.ts';
import { parseAge } from '../input/parse-options.ts';
import type { JsonDocument } from '../output/documents.ts';
import { showWindowProgress } from '../output/progress.ts';
import {
  differenceJson,
  differencesText,
  refuseUnanswered,
  unansweredJson,
} from '../output/recheck-report.ts';

export interface Options {
  readonly differences?: true;
  readonly emptyOlderThan?: string;
  readonly json?: true;
}

export async function run(words: string[], options: Options): Promise<void> {
  const nowMs = Date.now();
  const age = options.emptyOlderThan;
  const sinceMs = age === undefined ? null : parseAge(age, '--empty-older-than', nowMs);
  await withContext(
    { command: 'repair', defaultLogLevel: 'error', handlesSignals: true },
    async (context, signal) => {
      await requireSources(context);
      const seriesIds = words.length === 0 ? undefined : await findSeries(context.database, words);
      const outcome = await repair(context, {
        seriesIds,
        differences: options.differences === true || sinceMs === null,
        sinceMs,
        signal,
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
}

type Repair = Awaited<ReturnType<typeof repair>>;

async function repair(context: Context, request: Request) {
  const { database } = context;
  const longestRangeMs = await readRangeLimits(context);
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
  /** Requested windows: with differences, and confirmed empty. */
  const asked = {
    differences: ofDifferences.length,
    empties: countWindows(empties, longestRangeMs) + probes.length,
  };

  const counts = { answered: 0, fresh: 0, revised: 0 };
  /** Series with points before their known beginning: the years before are gaps now. */
  const earlier = new Set<SeriesKey>();
  const seriesIds = [...new Set([...known, ...empties].map(({ seriesId }) => seriesId))];
  const outcome = await recheckWindows(context, {
    lane: 'repair',
    windows: inOrder(ofDifferences, allWindows(empties, longestRangeMs), probes),
    count: asked.differences + asked.empties,
    longestRangeMs,
    seriesIds,
    signal: request.signal,
    progress: showWindowProgress('repair'),
    onSettled(settled) {
      counts.fresh += settled.fresh;
      counts.revised += settled.revised;
      if (settled.kind === 'overturned') earlier.add(settled.window.series);
      if (settled.message === null) counts.answered += 1;
    },
  });
  if (counts.fresh + counts.revised > 0) await refreshRollupsAtEnd(context, seriesIds, request.signal);
  return { asked, ...counts, ...outcome, earlier: [...earlier] };
}

function* inOrder(...lists: Iterable<CoveredWindow>[]): Generator<CoveredWindow> {
  for (const list of lists) yield* list;
}

function repairText(outcome: Repair): string {
  const { asked, answered, fresh, revised, differing, differences } = outcome;
  if (asked.differences + asked.empties === 0) return 'no known differences: see `tidemark verify`';
  const what = [
    asked.differences > 0 ? `${counted(asked.differences, 'window')} with differences` : '',
    asked.empties > 0 ? `${counted(asked.empties, 'window')} confirmed empty` : '',
  ].filter((text) => text !== '');
  const lines = [
    ...differencesText(differing, differences),
    `requested ${what.join(' and ')} again, ${formatCount(answered)} answered: ${counted(fresh, 'point')} new, ${formatCount(revised)} changed`,
  ];
  if (differences.length > 0)
    lines.push(`${counted(differences.length, 'point')} stored here and not at the source: kept`);
  for (const series of outcome.earlier)
    lines.push(`${seriesName(series)} begins earlier than known: the range before is missing now`);
  return lines.join('\n');
}

function repairJson({
  isWhole,
  differing,
  differences,
  unanswered,
  ...rest
}: Repair): JsonDocument<'repair'> {
  return {
    ...rest,
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
}
