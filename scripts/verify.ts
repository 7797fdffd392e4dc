/** `tidemark verify [series-id...]`: compares what is covered with what the source gives now, and changes nothing. */

import { type Command, Option } from 'commander';
import type { SeriesKey } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { allWindows, countWindows, sampleWindows } from '../planning/sample.ts';
import { longestRange } from '../planning/windows.ts';
import { differing } from '../store/compare.ts';
import { differencesIn } from '../store/differences.ts';
import { longestRanges } from '../store/longest-ranges.ts';
import { coveredSeries } from '../store/series-ranges.ts';
import { askWindows, bySeriesAndTime, type SettledWindow } from './ask-windows.ts';
import { requireSource } from './pipeline.ts';
import { refuseUnknown, seriesIdsOf } from './series-ids.ts';
import { openSession, type Session } from './session.ts';
import { onStop } from './stop.ts';
import { refuseDifferences, type Verification, verificationJson, verificationText } from './verification.ts';
import { showWindowProgress } from './window-progress.ts';

interface Options {
  readonly sample?: string;
  readonly all?: true;
  readonly json?: true;
}

const defaultSample = 30;

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
    console.log(
      options.json ? JSON.stringify(verificationJson(outcome), null, 2) : verificationText(outcome),
    );
    refuseDifferences(outcome);
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
