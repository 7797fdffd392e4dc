/** `tidemark repair [series-id...]`: asks again for what verify found to differ, and for what was empty long ago. */

import type { Command } from 'commander';
import { intervalMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { allWindows, type CoveredWindow, countWindows, windowsAround } from '../planning/sample.ts';
import { longestRange } from '../planning/windows.ts';
import { differing } from '../store/compare.ts';
import { emptiesBefore } from '../store/confirmed-empty.ts';
import { type Difference, differencesIn, differingPeriods } from '../store/differences.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { refreshRollups } from '../store/rollups.ts';
import { askWindows, bySeriesAndTime, type SettledWindow } from './ask-windows.ts';
import { differenceJson, differencesText } from './differences.ts';
import { parseAge } from './moment.ts';
import { requireSource } from './pipeline.ts';
import { refuseUnknown, seriesIdsOf } from './series-ids.ts';
import { openSession, type Session } from './session.ts';
import { onStop } from './stop.ts';
import { showWindowProgress } from './window-progress.ts';
import { count, counted } from './wording.ts';

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
    console.log(options.json ? JSON.stringify(asJson(outcome), null, 2) : asText(outcome));
    refuse(outcome);
  } finally {
    await session.close();
    stop.release();
  }
}

interface Repair {
  /** Windows that were asked for: of differences, and of what was empty. */
  readonly asked: { readonly differences: number; readonly empties: number };
  readonly answered: number;
  readonly fresh: number;
  readonly revised: number;
  /** Windows whose differences are not gone. */
  readonly remaining: readonly SettledWindow[];
  readonly differences: readonly Difference[];
  readonly unanswered: readonly SettledWindow[];
  readonly isWhole: boolean;
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
  const asked = { differences: ofDifferences.length, empties: countWindows(empties, longestRangeMs) };

  let answered = 0;
  let fresh = 0;
  let revised = 0;
  const remaining: SettledWindow[] = [];
  const unanswered: SettledWindow[] = [];
  const total = asked.differences + asked.empties;
  const { isWhole } =
    total === 0
      ? { isWhole: true }
      : await askWindows(session, {
          lane: 'repair',
          windows: inOrder(ofDifferences, allWindows(empties, longestRangeMs)),
          count: total,
          seriesIds: [...known, ...empties].map(({ seriesId }) => seriesId),
          signal: request.signal,
          progress: showWindowProgress('repair', request.quiet),
          onSettled(settled) {
            fresh += settled.fresh;
            revised += settled.revised;
            if (differing(settled) > 0) remaining.push(settled);
            if (settled.message === null) answered += 1;
            else unanswered.push(settled);
          },
        });
  if (fresh + revised > 0) await refreshRollups(database, { nowMs: Date.now(), signal: request.signal });
  remaining.sort(bySeriesAndTime);
  const reached = remaining.flatMap(({ window, reached }) =>
    reached.map((range) => ({ seriesId: window.seriesId, ...range })),
  );
  const differences = reached.length === 0 ? [] : await differencesIn(database, reached);
  return { asked, answered, fresh, revised, remaining, differences, unanswered, isWhole };
}

function* inOrder(...lists: Iterable<CoveredWindow>[]): Generator<CoveredWindow> {
  for (const list of lists) yield* list;
}

function asText(outcome: Repair): string {
  const { asked, answered, fresh, revised, remaining, differences } = outcome;
  if (asked.differences + asked.empties === 0) return 'nothing is known to differ: see `tidemark verify`';
  const what = [
    asked.differences > 0 ? `${counted(asked.differences, 'window')} with differences` : '',
    asked.empties > 0 ? `${counted(asked.empties, 'window')} confirmed empty` : '',
  ].filter((text) => text !== '');
  const lines = [
    ...differencesText(remaining, differences),
    `asked again for ${what.join(' and ')}, ${count(answered)} answered: ${counted(fresh, 'point')} new, ${count(revised)} changed`,
  ];
  if (differences.length > 0)
    lines.push(`${counted(differences.length, 'point')} stored here and not at the source: kept`);
  return lines.join('\n');
}

function asJson(outcome: Repair) {
  return {
    asked: outcome.asked,
    answered: outcome.answered,
    fresh: outcome.fresh,
    revised: outcome.revised,
    remaining: differenceJson(outcome.remaining, outcome.differences),
    unanswered: outcome.unanswered.map(({ window, message }) => ({
      seriesId: window.seriesId,
      start: new Date(window.startMs).toISOString(),
      end: new Date(window.endMs).toISOString(),
      message,
    })),
    interrupted: !outcome.isWhole,
  };
}

/** @throws TidemarkError unless every window was answered and no difference is left. */
function refuse(outcome: Repair): void {
  const { unanswered, differences, answered } = outcome;
  if (!outcome.isWhole) {
    throw new TidemarkError('INTERRUPTED', `stopped after ${counted(answered, 'window')}`);
  }
  const [first] = unanswered;
  if (first !== undefined) {
    throw new TidemarkError(
      'WINDOWS_UNANSWERED',
      `${counted(unanswered.length, 'window')} could not be repaired, the first: ${first.message}`,
    );
  }
  if (differences.length > 0) {
    throw new TidemarkError(
      'DIFFERENCES_REMAIN',
      `${counted(differences.length, 'stored point')} that the source does not have`,
    );
  }
}
