/** What a backfill shows of itself. */

import { groupBars } from './group-bars.ts';
import type { BackfillState } from './progress.ts';
import { grouped } from './series-groups.ts';
import { asFits, type Line } from './terminal/lines.ts';
import type { View } from './terminal/progress.ts';
import type { Space } from './terminal/terminal.ts';
import { etaText, waitText } from './time-left.ts';
import { budgetText, count, counted, kindsText, percent } from './wording.ts';

export interface BackfillPace extends BackfillState {
  /** Windows, of all series. */
  readonly left: number;
  /** Milliseconds; null: not known. */
  readonly etaMs: number | null;
  readonly pointsPerSecond: number | null;
}

export function backfillView(state: BackfillPace): View {
  return { lines: (space) => drawn(state, space), line: line(state), isLast: state.left === 0 };
}

function drawn(state: BackfillPace, space: Space): readonly Line[] {
  const width = space.columns - 1;
  const wait = waitText(state.pausedMs);
  const failed = kindsText(state.failures);
  const time: Line = wait === null ? [{ text: etaText(state.etaMs) }] : [{ text: wait, style: 'yellow' }];
  const below: Line[] = [
    asFits(
      [
        [{ text: leftText(state), style: 'bold' }],
        ...(state.left === 0 ? [] : [time]),
        [{ text: pointsText(state) }],
      ],
      width,
    ),
    [{ text: budgetText(state) }],
    ...(failed === '' ? [] : [[{ text: `failed: ${failed}`, style: 'red' as const }]]),
  ];
  // The last row is the cursor's.
  const room = Math.max(1, space.rows - 1 - below.length);
  return [...groupBars(grouped(state.series, room), space), ...below];
}

function line(state: BackfillPace): string {
  const wantedMs = state.series.reduce((sum, portion) => sum + portion.wantedMs, 0);
  const doneMs = state.series.reduce((sum, portion) => sum + portion.doneMs, 0);
  const failed = kindsText(state.failures);
  const parts =
    state.left === 0
      ? [leftText(state)]
      : [
          leftText(state),
          waitText(state.pausedMs) ?? etaText(state.etaMs),
          budgetText(state),
          ...(state.pointsPerSecond === null ? [] : [pointsText(state)]),
        ];
  return [
    `backfill ${percent(doneMs, wantedMs)}`,
    ...parts,
    ...(failed === '' ? [] : [`failed: ${failed}`]),
  ].join(', ');
}

function leftText({ left }: BackfillPace): string {
  return left === 0 ? 'nothing left' : `${counted(left, 'window')} left`;
}

function pointsText({ pointsPerSecond }: BackfillPace): string {
  return `${pointsPerSecond === null ? '-' : count(Math.round(pointsPerSecond))} points a second`;
}
