/** Formats `status --watch`: lines for a terminal, a line for a log, a JSON document. */

import {
  budgetText,
  counted,
  formatCount,
  formatDuration,
  formatPercent,
  formatTime,
  kindsText,
} from '../../model/format.ts';
import { printable } from '../../model/names.ts';
import { outageJson } from '../../operations/source-health.ts';
import type { StatusSnapshot } from '../../operations/status/poller.ts';
import type { Headline } from '../../planning/conditions.ts';
import { isPausedBySource } from '../../planning/progress.ts';
import type { JsonDocument } from './documents.ts';
import { etaText, waitText } from './progress.ts';
import { groupBars, grouped } from './series-groups.ts';
import { asFits, type Space, type Style } from './terminal.ts';

export interface LiveStatus extends StatusSnapshot {
  /** Why there is no newer snapshot; null: this one is current. */
  readonly lost: string | null;
  /** Time between two polls. */
  readonly everyMs: number;
}

const nameWidth = 10;
/** Lines reserved for bars on a small terminal. */
const minBars = 2;

export function liveStatusLines(status: LiveStatus, space: Space): readonly string[] {
  const width = space.columns - 1;
  const { paint } = space;
  const about = (name: string, parts: readonly string[], style?: Style): string => {
    const shown = parts.filter((part) => part !== '');
    const [first = '', ...rest] = style === undefined ? shown : shown.map((part) => paint(style, part));
    return asFits([paint('dim', name.padEnd(nameWidth)) + first, ...rest], width);
  };
  const { activity, queue, serviceMessage, left, state } = status;
  const failed = kindsText(activity.failures);
  const wait = waitText(queue.pausedMs);
  const { failed: failedGaps = 0, blocked = 0, awaits_second_answer: awaiting = 0, stale = 0 } = status.gaps;
  const { beyondDepth } = status;
  const aside = [
    failedGaps > beyondDepth ? `${counted(failedGaps - beyondDepth, 'range')} failed` : '',
    beyondDepth > 0 ? `${counted(beyondDepth, 'range')} beyond the depth of a source` : '',
    blocked > 0 ? `${counted(blocked, 'range')} refused` : '',
    stale > 0 ? `${counted(stale, 'range')} with a stale answer` : '',
    awaiting > 0 ? `${counted(awaiting, 'range')} empty so far` : '',
    status.rejected > 0 ? `${counted(status.rejected, 'rejected row')} in quarantine` : '',
  ];
  const title = [
    paint('bold', `Tidemark ${formatTime(status.atMs)}`),
    paint('dim', `every ${formatDuration(status.everyMs)}`),
    paint('dim', 'q ends'),
  ];
  const head = [
    asFits(title, width),
    status.lost === null
      ? about('state', conditionTexts(state), styles[state.headline.level])
      : about('offline', [status.lost, 'retrying'], 'red'),
    ...(serviceMessage === null ? [] : [about('message', [printable(serviceMessage.message)], 'yellow')]),
    about('left', [
      left === 0 ? 'no window' : counted(left, 'window'),
      left === 0 ? '' : etaText(status.lost === null ? state.etaMs : null),
      status.missingMs === 0
        ? ''
        : `${formatDuration(status.missingMs)} missing${status.missingSeries > 1 ? ` across ${formatCount(status.missingSeries)} series` : ''}`,
    ]),
    about(
      'budget',
      [budgetText(status), kindsText(activity.lanes)],
      isPausedBySource(queue.pausedMs) ? 'yellow' : undefined,
    ),
    ...(wait === null ? [] : [about('paused', [wait], 'yellow')]),
    about('points', [`${perSecond(activity.points)} a second over the last minute`]),
    about('answers', [kindsText(activity.verdicts) || 'none in the last minute']),
    about(
      'failures',
      [failed === '' ? 'none in the last hour' : `${failed} in the last hour`],
      failed === '' ? undefined : 'red',
    ),
    ...(aside.every((part) => part === '') ? [] : [about('deferred', [...aside, printable(status.trouble ?? '')])]),
    about(
      'queue',
      [
        `${formatCount(queue.waiting)} waiting`,
        `${formatCount(queue.active)} active`,
        counted(queue.workers, 'worker'),
        `${formatCount(queue.delayed)} delayed`,
      ],
      queue.workers === 0 && left > 0 ? 'yellow' : undefined,
    ),
  ];
  // The cursor takes the last row.
  const rows = space.rows - 1;
  const shown = head.slice(0, Math.max(1, rows - minBars));
  const isRoomy = rows - shown.length > minBars;
  const room = Math.max(1, rows - shown.length - (isRoomy ? 1 : 0));
  const bars =
    status.series.length === 0
      ? ['no series is tracked: see `tidemark track --help`']
      : groupBars(grouped(status.series, room), space);
  return [...shown, ...(isRoomy ? [''] : []), ...bars];
}

/** Points per second, from the points of a minute. */
function perSecond(points: number): string {
  const rate = points / 60;
  return rate > 0 && rate < 10 ? rate.toFixed(1) : formatCount(Math.round(rate));
}

/** Without the time: a line is printed only when it changes. */
export function liveStatusLine(status: StatusSnapshot): string {
  const { wantedMs, coveredMs } = sums(status);
  const failed = kindsText(status.activity.failures);
  const { failed: aside = 0, blocked = 0 } = status.gaps;
  const { headline, etaMs } = status.state;
  return [
    ...(headline.level === 'bad' ? [headline.text] : []),
    `covered ${formatPercent(coveredMs, wantedMs)}`,
    status.left === 0 ? 'no window left' : `${counted(status.left, 'window')} left`,
    ...(status.left === 0 ? [] : [waitText(status.queue.pausedMs) ?? etaText(etaMs)]),
    budgetText(status),
    `${perSecond(status.activity.points)} points a second`,
    ...(failed === '' ? [] : [`failed in the last hour: ${failed}`]),
    ...(aside + blocked === 0 ? [] : [`${counted(aside + blocked, 'range')} deferred`]),
    ...(status.rejected === 0 ? [] : [`${counted(status.rejected, 'rejected row')} in quarantine`]),
  ].join(', ');
}

const styles: Readonly<Record<Headline['level'], Style | undefined>> = {
  ok: 'green',
  working: undefined,
  waiting: 'yellow',
  bad: 'red',
};

/** The headline, and what else is wrong: progress has lines of its own. */
function conditionTexts({ headline, also }: StatusSnapshot['state']): string[] {
  return [headline, ...also.filter(({ level }) => level !== 'working')].map(({ text }) => text);
}

/** Durations are seconds, as in `status --json`. */
export function liveStatusJson(
  status: StatusSnapshot,
): Exclude<JsonDocument<'status-watch'>, { readonly error: unknown }> {
  const { wantedMs, coveredMs } = sums(status);
  const { lanes, verdicts, points, failures } = status.activity;
  const { perMinute: _, ...queue } = status.queue;
  const seconds = (ms: number) => ms / 1000;
  const { headline, also, etaMs } = status.state;
  return {
    time: new Date(status.atMs).toISOString(),
    headline,
    also,
    sourceOutage: outageJson(status.outage),
    wantedSeconds: seconds(wantedMs),
    coveredSeconds: seconds(coveredMs),
    missingSeconds: seconds(status.missingMs),
    rejectedRows: status.rejected,
    windowsLeft: status.left,
    etaSeconds: etaMs === null ? null : Math.ceil(seconds(etaMs)),
    budget: { perMinute: status.perMinute, lastMinute: status.lastMinute, ...lanes },
    pointsPerSecond: points / 60,
    answers: verdicts,
    failures,
    gaps: status.gaps,
    queue: { ...queue, paused: isPausedBySource(queue.pausedMs) },
    notice: status.serviceMessage?.message ?? null,
    groups: grouped(status.series, Number.POSITIVE_INFINITY).map((group) => ({
      name: group.name,
      series: group.series,
      wantedSeconds: seconds(group.wantedMs),
      coveredSeconds: seconds(group.doneMs),
      windowsLeft: group.windowsLeft,
    })),
  };
}

function sums({ series }: StatusSnapshot): { wantedMs: number; coveredMs: number } {
  return {
    wantedMs: series.reduce((sum, portion) => sum + portion.wantedMs, 0),
    coveredMs: series.reduce((sum, portion) => sum + portion.doneMs, 0),
  };
}
