/** Progress of a backfill. */

import { backfillView } from './backfill-view.ts';
import { Pace } from './pace.ts';
import type { Portion } from './series-groups.ts';
import { openProgress } from './terminal/progress.ts';

/** How far a backfill is. */
export interface BackfillState {
  /** What was missing of each series at the start, and what has come since. */
  readonly series: readonly Portion[];
  /** Points that were not stored before, so far. */
  readonly points: number;
  /** Requests of all lanes in the last minute, and the most there may be; 0: no limit. */
  readonly lastMinute: number;
  readonly perMinute: number;
  /** Requests of these series that failed, by kind of error. */
  readonly failures: Readonly<Record<string, number>>;
  /** How long the queue still waits for the source. */
  readonly pausedMs: number;
}

export interface BackfillProgress {
  update(state: BackfillState): void;
  /** Prints a line for good. The bars stay where they are, and what is shown afterwards is drawn below it. */
  say(what: string): void;
  stop(): void;
}

/** @param synthetic marks every line, as all that shows simulated data must. @param quiet shows nothing. */
export function showProgress(options: { quiet: boolean; synthetic: boolean }): BackfillProgress {
  const { quiet, synthetic } = options;
  const progress = openProgress({
    stream: process.stdout,
    quiet,
    ...(synthetic ? { label: '[synthetic] ' } : {}),
  });
  const windows = new Pace();
  const points = new Pace();
  return {
    update(state) {
      const left = state.series.reduce((sum, portion) => sum + portion.windowsLeft, 0);
      windows.sawLeft(left);
      points.sawDone(state.points);
      const etaMs = windows.timeLeftMs(left, state);
      progress.show(backfillView({ ...state, left, etaMs, pointsPerSecond: points.perSecond() }));
    },
    say: progress.say,
    stop: progress.stop,
  };
}
