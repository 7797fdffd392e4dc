/** `tidemark verify [series-id...]`: compares what is covered with what the source gives now, and changes nothing. */

import { type Command, Option } from 'commander';
import type { SeriesKey } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { mostDiffering } from '../planning/confidence.ts';
import { allWindows, countWindows, sampleWindows } from '../planning/sample.ts';
import { longestRange } from '../planning/windows.ts';
import { differing } from '../store/compare.ts';
import { type Difference, differencesIn } from '../store/differences.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { coveredSeries } from '../store/series-ranges.ts';
import { askWindows, bySeriesAndTime, type SettledWindow } from './ask-windows.ts';
import { differenceJson, differencesText } from './differences.ts';
import { requireSource } from './pipeline.ts';
import { refuseUnknown, seriesIdsOf } from './series-ids.ts';
import { openSession, type Session } from './session.ts';
import { onStop } from './stop.ts';
import { showWindowProgress } from './window-progress.ts';
import { count, counted } from './wording.ts';

interface Options {
  readonly sample?: string;
  readonly all?: true;
  readonly json?: true;
}

const defaultSample = 30;
const confidence = 0.95;

export function verifyCommand(program: Command): void {
  program
    .command('verify')
    .description(
      'ask the source again for some of what is covered, and compare it digit by digit; changes nothing',
    )
    .argument('[series-id...]', 'ids of series, as `status` shows them; without any, all that are tracked')
    .addOption(
      new Option(
        '--sample <count>',
        `how many windows, drawn at random (default: ${defaultSample})`,
      ).conflicts('all'),
    )
    .addOption(new Option('--all', 'every covered window'))
    .option('--json', 'print the outcome as JSON, with every difference')
    .action(run);
}

async function run(words: string[], options: Options): Promise<void> {
  const seriesIds = seriesIdsOf(words);
  const sample = options.all ? null : sampleOf(options.sample);
  const stop = onStop();
  const session = await openSession({ command: 'verify', defaultLogLevel: 'error', handlesSignals: true });
  try {
    requireSource(session.config);
    await refuseUnknown(session, seriesIds);
    const outcome = await verify(session, {
      seriesIds,
      sample,
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

/** @throws TidemarkError BAD_ARGUMENT */
function sampleOf(text: string | undefined): number {
  if (text === undefined) return defaultSample;
  if (/^\d{1,7}$/.test(text) && Number(text) > 0) return Number(text);
  throw new TidemarkError(
    'BAD_ARGUMENT',
    `--sample ${JSON.stringify(text)} is not a number from 1 to 9999999`,
  );
}

interface Verification {
  /** All that is covered, in windows. */
  readonly windows: number;
  /** Windows that were compared as a whole, and the points in them. */
  readonly compared: number;
  readonly points: number;
  readonly differing: readonly SettledWindow[];
  readonly rewritten: number;
  readonly unanswered: readonly SettledWindow[];
  readonly differences: readonly Difference[];
  readonly isWhole: boolean;
}

async function verify(
  session: Session,
  request: { seriesIds: number[] | undefined; sample: number | null; signal: AbortSignal; quiet: boolean },
): Promise<Verification> {
  const { database, config } = session;
  const covered = await coveredSeries(database, request.seriesIds);
  const accepted = await longestRanges(database);
  const longestRangeMs = (series: SeriesKey) => longestRange(series, config.source.rangeLimits, accepted);
  const windows = countWindows(covered, longestRangeMs);
  const wanted = Math.min(windows, request.sample ?? windows);
  const differingWindows: SettledWindow[] = [];
  const unanswered: SettledWindow[] = [];
  let compared = 0;
  let points = 0;
  let rewritten = 0;
  const { isWhole } =
    wanted === 0
      ? { isWhole: true }
      : await askWindows(session, {
          lane: 'verify',
          windows:
            request.sample === null
              ? allWindows(covered, longestRangeMs)
              : sampleWindows(covered, longestRangeMs, wanted, Math.random),
          count: wanted,
          seriesIds: covered.map(({ seriesId }) => seriesId),
          signal: request.signal,
          progress: showWindowProgress('verify', request.quiet),
          onSettled(settled) {
            points += settled.points;
            rewritten += settled.rewritten;
            if (differing(settled) > 0) differingWindows.push(settled);
            if (settled.message === null) compared += 1;
            else unanswered.push(settled);
          },
        });
  differingWindows.sort(bySeriesAndTime);
  const reached = differingWindows.flatMap(({ window, reached }) =>
    reached.map((range) => ({ seriesId: window.seriesId, ...range })),
  );
  const differences = reached.length === 0 ? [] : await differencesIn(database, reached);
  return {
    windows,
    compared,
    points,
    differing: differingWindows,
    rewritten,
    unanswered,
    differences,
    isWhole,
  };
}

/** Points that differ, in all. */
function pointsOf(windows: readonly SettledWindow[]): number {
  return windows.reduce((sum, settled) => sum + differing(settled), 0);
}

/** How many of all windows may differ by what the sample shows: those that were compared count, whole. */
function limitOf({ windows, compared, differing, unanswered }: Verification): number | null {
  const seen = differing.filter((settled) => !unanswered.includes(settled)).length;
  return compared === 0 ? null : mostDiffering({ windows, compared, differing: seen }, confidence);
}

/** In percent, rounded up: a limit must not look lower than it is. */
function percentUp(part: number, whole: number): string {
  return `${(Math.ceil((part / whole) * 1000) / 10).toFixed(1)} %`;
}

function asText(outcome: Verification): string {
  const { windows, compared, points, differing, rewritten, unanswered, differences } = outcome;
  if (windows === 0) return 'nothing is covered yet, so there is nothing to verify';
  const found =
    differing.length === 0
      ? 'nothing differs'
      : `${counted(differing.length, 'window')} differ${differing.length === 1 ? 's' : ''}, in ${counted(pointsOf(outcome.differing), 'point')}`;
  const lines = [
    ...differencesText(differing, differences),
    `compared ${count(compared)} of ${counted(windows, 'covered window')}, ${counted(points, 'point')}, digit by digit: ${found}`,
  ];
  if (rewritten > 0)
    lines.push(
      `${counted(rewritten, 'point')} equal as numbers and written with other digits (1.10, 1.1): kept as first received`,
    );
  const limit = limitOf(outcome);
  if (limit !== null) {
    lines.push(
      compared === windows
        ? 'every covered window was compared, so this is certain of what the source gives now'
        : `with 95 % confidence at most ${percentUp(limit, windows)} of the covered windows differ (${count(limit)})`,
    );
  }
  if (unanswered.length > 0) lines.push(`${counted(unanswered.length, 'window')} could not be compared`);
  return lines.join('\n');
}

function asJson(outcome: Verification) {
  const limit = limitOf(outcome);
  return {
    windows: outcome.windows,
    compared: outcome.compared,
    points: outcome.points,
    differing: outcome.differing.length,
    differingPoints: pointsOf(outcome.differing),
    rewritten: outcome.rewritten,
    confidence:
      limit === null
        ? null
        : { level: confidence, atMostWindows: limit, atMostShare: limit / outcome.windows },
    differences: differenceJson(outcome.differing, outcome.differences),
    unanswered: outcome.unanswered.map(({ window, message }) => ({
      seriesId: window.seriesId,
      start: new Date(window.startMs).toISOString(),
      end: new Date(window.endMs).toISOString(),
      message,
    })),
    interrupted: !outcome.isWhole,
  };
}

/** @throws TidemarkError unless all that was to be compared was, and nothing differs. */
function refuse(outcome: Verification): void {
  const { differing, unanswered, compared } = outcome;
  if (differing.length > 0) {
    throw new TidemarkError(
      'DIFFERENCES_FOUND',
      `${counted(pointsOf(outcome.differing), 'point')} in ${count(differing.length)} of ${counted(compared, 'compared window')} differ from the source`,
    );
  }
  if (!outcome.isWhole) {
    throw new TidemarkError('INTERRUPTED', `stopped after ${counted(compared, 'window')}`, {
      remedy: 'run the same command again: it begins anew',
    });
  }
  const [first] = unanswered;
  if (first !== undefined) {
    throw new TidemarkError(
      'WINDOWS_UNANSWERED',
      `${counted(unanswered.length, 'window')} could not be compared, the first: ${first.message}`,
    );
  }
}
