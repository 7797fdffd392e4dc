/** What `status --watch` prints where nothing can be drawn: a line, or a line of JSON. */

import { grouped } from './series-groups.ts';
import { printable } from './terminal/lines.ts';
import { etaText, isHeldOff, waitText } from './time-left.ts';
import type { Sight } from './watch-look.ts';
import { perSecond } from './watch-view.ts';
import { budgetText, counted, kindsText, percent } from './wording.ts';

/** Without its time: it is printed when it says something new. */
export function watchLine(sight: Sight, etaMs: number | null): string {
  const { wantedMs, coveredMs } = sums(sight);
  const failed = kindsText(sight.activity.failures);
  const { failed: aside = 0, blocked = 0 } = sight.gaps;
  return [
    `covered ${percent(coveredMs, wantedMs)}`,
    sight.left === 0 ? 'no window left' : `${counted(sight.left, 'window')} left`,
    ...(sight.left === 0 ? [] : [waitText(sight.queue.pausedMs) ?? etaText(etaMs)]),
    budgetText(sight),
    `${perSecond(sight.activity.points)} points a second`,
    ...(failed === '' ? [] : [`failed in the last hour: ${failed}`]),
    ...(aside + blocked === 0 ? [] : [`${counted(aside + blocked, 'range')} set aside`]),
    ...(sight.queue.workers === 0 ? ['no worker'] : []),
    ...(sight.notice === null
      ? []
      : [`the source says in place of data: ${printable(sight.notice.message)}`]),
  ].join(', ');
}

/** One document a line; lengths in seconds, as in `status --json`. */
export function watchJson(sight: Sight, etaMs: number | null) {
  const { wantedMs, coveredMs } = sums(sight);
  const { lanes, verdicts, points, failures } = sight.activity;
  const seconds = (ms: number) => ms / 1000;
  return {
    time: new Date(sight.atMs).toISOString(),
    wantedSeconds: seconds(wantedMs),
    coveredSeconds: seconds(coveredMs),
    missingSeconds: seconds(sight.missingMs),
    windowsLeft: sight.left,
    etaSeconds: etaMs === null ? null : Math.ceil(seconds(etaMs)),
    budget: { perMinute: sight.perMinute, lastMinute: sight.lastMinute, ...lanes },
    pointsPerSecond: points / 60,
    answers: verdicts,
    failures,
    gaps: sight.gaps,
    queue: { ...sight.queue, paused: isHeldOff(sight.queue.pausedMs) },
    notice: sight.notice?.message ?? null,
    groups: grouped(sight.series, Number.POSITIVE_INFINITY).map((group) => ({
      name: group.name,
      series: group.series,
      wantedSeconds: seconds(group.wantedMs),
      coveredSeconds: seconds(group.doneMs),
      windowsLeft: group.windowsLeft,
    })),
  };
}

function sums({ series }: Sight): { wantedMs: number; coveredMs: number } {
  return {
    wantedMs: series.reduce((sum, portion) => sum + portion.wantedMs, 0),
    coveredMs: series.reduce((sum, portion) => sum + portion.doneMs, 0),
  };
}
