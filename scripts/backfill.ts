/** `tidemark backfill candles|history ...`: tracks, then works until no gap is left. */

import type { Command } from 'commander';
import { seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { trackSeries } from '../store/series.ts';
import { costOf } from './cost.ts';
import { costJson, costText } from './cost-report.ts';
import { type BackfillOutcome, fillGaps } from './fill-gaps.ts';
import { requireSource } from './pipeline.ts';
import { trackedRanges } from './plan.ts';
import { showProgress } from './progress.ts';
import { addSelections, type SelectingOptions, type Selection } from './selectors.ts';
import { openSession } from './session.ts';
import { onStop } from './stop.ts';
import { withinRetention } from './within-retention.ts';
import { counted, duration } from './wording.ts';

export function backfillCommand(program: Command): void {
  const backfill = program
    .command('backfill')
    .description('track series and work until none of the range is missing; exits 0 only then')
    .helpCommand(false);
  addSelections(
    backfill,
    {
      json: 'print the outcome as JSON',
      dryRun: 'say what it would cost: requests, time, points and disk; nothing is tracked or asked for',
    },
    (selection, options) => (options.dryRun ? estimate(selection, options) : run(selection, options)),
  );
}

async function run(asked: Selection, options: SelectingOptions): Promise<void> {
  const stop = onStop();
  const session = await openSession({ command: 'backfill', defaultLogLevel: 'error', handlesSignals: true });
  try {
    requireSource(session.config);
    const selection = await withinRetention(session, asked);
    const ids: number[] = [];
    for (const series of selection.series) {
      const fromMs = selection.trackFromMs(series);
      ids.push((await trackSeries(session.database, series, fromMs, selection.toMs)).seriesId);
    }
    const outcome = await fillGaps(session, {
      seriesIds: ids,
      fromMs: selection.fromMs,
      toMs: selection.toMs,
      signal: stop.signal,
      progress: showProgress({ quiet: options.json === true, synthetic: false }),
    });
    if (options.json) console.log(JSON.stringify(outcome));
    else console.log(lastLine(outcome));
    if (outcome.interrupted) {
      throw new TidemarkError(
        'INTERRUPTED',
        outcome.rollups === 'stopped'
          ? 'stopped while the rollups were refreshed; every window is stored'
          : `stopped with ${counted(outcome.windowsLeft, 'window')} left; what was fetched is stored`,
      );
    }
  } finally {
    await session.close();
    stop.release();
  }
}

/** Beside all that is tracked, which shares the budget. */
async function estimate(asked: Selection, options: SelectingOptions): Promise<void> {
  const session = await openSession({ command: 'backfill', defaultLogLevel: 'error' });
  try {
    const nowMs = Date.now();
    const selection = await withinRetention(session, asked);
    const wanted = selection.series.map((series) => ({
      series,
      fromMs: selection.trackFromMs(series),
      toMs: selection.toMs,
    }));
    const names = new Set(selection.series.map(seriesName));
    const beside = (await trackedRanges(session, nowMs)).filter(
      ({ series }) => !names.has(seriesName(series)),
    );
    const cost = await costOf(session, wanted, beside, nowMs);
    console.log(options.json ? JSON.stringify(costJson(cost), null, 2) : costText(cost));
  } finally {
    await session.close();
  }
}

/** What was done, and what still awaits a second answer. */
export function lastLine(outcome: BackfillOutcome): string {
  const work = `${counted(outcome.requests, 'request')}, ${counted(outcome.points, 'new point')}, ${duration(outcome.durationMs)}`;
  if (outcome.interrupted) return `interrupted: ${work}`;
  const awaiting =
    outcome.awaiting === 0
      ? ''
      : `; ${counted(outcome.awaiting, 'range')} answered empty and await a second answer`;
  const silent =
    outcome.withoutPoints.length === 0
      ? ''
      : `; nothing was ever answered for ${outcome.withoutPoints.join(', ')}: is the name right?`;
  const rollups = outcome.rollups === 'left' ? '; the rollups follow within the hour' : '';
  return `${outcome.requests === 0 ? 'nothing was missing' : 'complete'}: ${work}${awaiting}${silent}${rollups}`;
}
