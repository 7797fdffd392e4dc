/** Shows the progress of a backfill. */

import type { Clock } from '../../clock.ts';
import { budgetText, counted, formatCount, kindsText, nonEmpty } from '../../model/format.ts';
import { sum } from '../../model/sum.ts';
import {
  type BackfillProgress,
  type BackfillState,
  coveredText,
  RateEstimator,
  toGoText,
} from '../../planning/progress.ts';
import { etaText, openProgress, type View, waitText } from './progress.ts';
import { groupBars, grouped } from './series-groups.ts';
import { asFits, type Space } from './terminal.ts';

/** @param label precedes every line, as required for simulated data. */
export function showProgress(clock: Pick<Clock, 'monotonicMs'>, label = ''): BackfillProgress {
  const progress = openProgress(clock, label);
  const points = new RateEstimator(clock);
  return {
    update(state) {
      const left = sum(state.series.map((portion) => portion.left));
      points.addDone(state.points);
      progress.show(backfillView({ ...state, left, pointsPerSecond: points.perSecond() }));
    },
    say: progress.say,
    stop: progress.stop,
  };
}

export interface BackfillPace extends BackfillState {
  /** Requests to go, of all series. */
  readonly left: number;
  readonly pointsPerSecond: number | null;
}

export function backfillView(state: BackfillPace): View {
  return { lines: (space) => drawn(state, space), line: line(state), isLast: state.left === 0 && state.awaited === 0 };
}

function drawn(state: BackfillPace, space: Space): readonly string[] {
  const wait = waitText(state.pausedMs);
  const failed = failuresText(state);
  const time = wait === null ? etaText(state.etaMs) : space.paint('yellow', wait);
  const parts = [
    space.paint('bold', leftText(state)),
    ...(state.left === 0 ? [] : nonEmpty([time, shareText(state)])),
    ...(state.pointsPerSecond === null ? [] : [pointsText(state)]),
  ];
  const below = [
    asFits(parts, space.columns - 1),
    budgetText(state),
    ...(failed === '' ? [] : [space.paint('red', failed)]),
  ];
  // The cursor takes the last row.
  const room = Math.max(1, space.rows - 1 - below.length);
  return [...groupBars(grouped(state.series, room), space), ...below];
}

function line(state: BackfillPace): string {
  const failed = failuresText(state);
  const parts =
    state.left === 0
      ? [leftText(state)]
      : [
          leftText(state),
          ...nonEmpty([waitText(state.pausedMs) ?? etaText(state.etaMs)]),
          shareText(state),
          budgetText(state),
          ...(state.pointsPerSecond === null ? [] : [pointsText(state)]),
        ];
  return `backfill: ${[...parts, ...(failed === '' ? [] : [failed])].join(', ')}`;
}

/** Attempts that failed. If all is covered, others succeeded after them. */
function failuresText({ failures, series }: BackfillPace): string {
  const kinds = kindsText(failures);
  if (kinds === '') return '';
  return series.every(({ doneMs, wantedMs }) => doneMs >= wantedMs) ? `retried: ${kinds}` : `failed: ${kinds}`;
}

function leftText({ left, awaited, series }: BackfillPace): string {
  if (left === 0 && awaited > 0) return `waiting for ${counted(awaited, 'range')}`;
  return left === 0 ? 'nothing left' : toGoText(left, sum(series.map(({ requests }) => requests)));
}

function shareText({ series }: BackfillPace): string {
  const wantedMs = sum(series.map((portion) => portion.wantedMs));
  return coveredText({ wantedMs, coveredMs: sum(series.map(({ doneMs }) => doneMs)) });
}

function pointsText({ pointsPerSecond }: BackfillPace): string {
  return `${formatCount(Math.round(pointsPerSecond ?? 0))} points a second`;
}
