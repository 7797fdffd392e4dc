/** `tidemark repair [series-id...]`: asks again for what verify found to differ, and for what was empty long ago. */

import type { Command } from 'commander';
import { intervalMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { probedSeries, probesAgain } from '../planning/beginning.ts';
import { allWindows, type CoveredWindow, countWindows, windowsAround } from '../planning/sample.ts';
import { longestRange } from '../planning/windows.ts';
import { differing } from '../store/compare.ts';
import { emptiesBefore } from '../store/confirmed-empty.ts';
import { differencesIn, differingPeriods } from '../store/differences.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { askWindows, bySeriesAndTime, type SettledWindow } from './ask-windows.ts';
import { parseAge } from './moment.ts';
import { requireSource } from './pipeline.ts';
import { type Repair, refuseRemaining, repairJson, repairText } from './repair-outcome.ts';
import { bringRollupsUpToDate } from './rollups-up-to-date.ts';
import { refuseUnknown, seriesIdsOf } from './series-ids.ts';
import { openSession, type Session } from './session.ts';
import { onStop } from './stop.ts';
import { showWindowProgress } from './window-progress.ts';

interface Options {
  readonly differences?: true;
  readonly emptyOlderThan?: string;
  readonly json?: true;
}

export function repairCommand(program: Command): void {
  program
    .command('repair')
    .description(
      'ask the source again for what differs from it, and for what was empty long ago, and store the answers',
    )
    .argument('[series-id...]', 'ids of series, as `status` shows them; without any, all')
    .option('--differences', 'what `verify` found to differ (this is the default)')
    .option(
      '--empty-older-than <age>',
      'what is confirmed to be empty, and was last asked for so long ago: 30d, 8w',
    )
    .option('--json', 'print the outcome as JSON')
    .action(run);
}

async function run(words: string[], options: Options): Promise<void> {
  const seriesIds = seriesIdsOf(words);
  const nowMs = Date.now();
  const age = options.emptyOlderThan;
  const sinceMs = age === undefined ? null : parseAge(age, '--empty-older-than', nowMs);
  const stop = onStop();
  const session = await openSession({ command: 'repair', defaultLogLevel: 'error', handlesSignals: true });
  try {
    requireSource(session.config);
    await refuseUnknown(session, seriesIds);
    const outcome = await repair(session, {
      seriesIds,
      differences: options.differences === true || sinceMs === null,
      sinceMs,
      signal: stop.signal,
      quiet: options.json === true,
    });
    console.log(options.json ? JSON.stringify(repairJson(outcome), null, 2) : repairText(outcome));
    refuseRemaining(outcome);
  } finally {
    await session.close();
    stop.release();
  }
}

interface Request {
  readonly seriesIds: readonly number[] | undefined;
  readonly differences: boolean;
  /** What is empty and was last asked for before; null: none of it. */
  readonly sinceMs: number | null;
  readonly signal: AbortSignal;
  readonly quiet: boolean;
}

async function repair(session: Session, request: Request): Promise<Repair> {
  const { database, config } = session;
  const accepted = await longestRanges(database);
  const longestRangeMs = (series: SeriesKey) => longestRange(series, config.source.rangeLimits, accepted);
  const known = request.differences ? await differingPeriods(database, request.seriesIds) : [];
  const ofDifferences = known.flatMap(({ seriesId, series, timesMs }): CoveredWindow[] =>
    windowsAround(timesMs, intervalMs[series.interval], longestRangeMs(series)).map((range) => ({
      seriesId,
      series,
      ...range,
    })),
  );
  const empties =
    request.sinceMs === null ? [] : await emptiesBefore(database, request.sinceMs, request.seriesIds);
  const probes = empties.flatMap(({ seriesId, series, before, knownMs }): CoveredWindow[] =>
    before.flatMap((range) =>
      [...probesAgain(range, knownMs, longestRangeMs(probedSeries(series)))].map((probe) => ({
        ...{ seriesId, series, ...probe },
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
  const remaining: SettledWindow[] = [];
  const unanswered: SettledWindow[] = [];
  const earlier = new Set<SeriesKey>();
  const total = asked.differences + asked.empties;
  const { isWhole } =
    total === 0
      ? { isWhole: true }
      : await askWindows(session, {
          lane: 'repair',
          windows: inOrder(ofDifferences, allWindows(empties, longestRangeMs), probes),
          count: total,
          seriesIds: [...known, ...empties].map(({ seriesId }) => seriesId),
          signal: request.signal,
          progress: showWindowProgress('repair', request.quiet),
          onSettled(settled) {
            fresh += settled.fresh;
            revised += settled.revised;
            if (settled.kind === 'overturned') earlier.add(settled.window.series);
            if (differing(settled) > 0) remaining.push(settled);
            if (settled.message === null) answered += 1;
            else unanswered.push(settled);
          },
        });
  if (fresh + revised > 0) await bringRollupsUpToDate(database, request.signal);
  remaining.sort(bySeriesAndTime);
  const reached = remaining.flatMap(({ window, reached }) =>
    reached.map((range) => ({ seriesId: window.seriesId, ...range })),
  );
  const differences = reached.length === 0 ? [] : await differencesIn(database, reached);
  return {
    ...{ asked, answered, fresh, revised, remaining, differences, unanswered, isWhole },
    earlier: [...earlier],
  };
}

function* inOrder(...lists: Iterable<CoveredWindow>[]): Generator<CoveredWindow> {
  for (const list of lists) yield* list;
}
