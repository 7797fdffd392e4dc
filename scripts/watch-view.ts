/** What `status --watch` draws. */

import type { TidemarkError } from '../errors.ts';
import { groupBars } from './group-bars.ts';
import { grouped } from './series-groups.ts';
import { asFits, type Line, printable, type Style } from './terminal/lines.ts';
import type { Space } from './terminal/terminal.ts';
import { etaText, isHeldOff, waitText } from './time-left.ts';
import type { Sight } from './watch-look.ts';
import { budgetText, count, counted, duration, kindsText, moment } from './wording.ts';

export interface Watched extends Sight {
  /** Milliseconds; null: not known. */
  readonly etaMs: number | null;
  /** Why there is nothing newer; null: this is new. */
  readonly lost: string | null;
  /** Time between two looks. */
  readonly everyMs: number;
}

/** The words for what failed: one line, without what a terminal would obey. */
export function lostText(error: TidemarkError): string {
  return printable(`${error.code}: ${error.message}`);
}

const nameWidth = 10;
/** Kept for bars, however small the terminal. */
const leastBars = 2;

export function watchLines(sight: Watched, space: Space): readonly Line[] {
  const width = space.columns - 1;
  const about = (name: string, parts: ReadonlyArray<string | null>, style?: Style): Line =>
    asFits(
      parts
        .filter((part) => part !== null && part !== '')
        .map((text, index): Line => {
          const value = { text: text ?? '', ...(style === undefined ? {} : { style }) };
          return index === 0 ? [{ text: name.padEnd(nameWidth), style: 'dim' }, value] : [value];
        }),
      width,
    );
  const { activity, queue, notice } = sight;
  const failed = kindsText(activity.failures);
  const wait = waitText(queue.pausedMs);
  const { failed: failedGaps = 0, blocked = 0, awaits_second_answer: awaiting = 0, stale = 0 } = sight.gaps;
  const aside = [
    failedGaps > 0 ? `${counted(failedGaps, 'range')} failed` : '',
    blocked > 0 ? `${counted(blocked, 'range')} refused` : '',
    stale > 0 ? `${counted(stale, 'range')} from an old copy` : '',
    awaiting > 0 ? `${counted(awaiting, 'range')} empty so far` : '',
  ];
  const head: Line[] = [
    asFits(
      [
        [{ text: `Tidemark ${moment(sight.atMs)}`, style: 'bold' }],
        [{ text: `every ${duration(sight.everyMs)}`, style: 'dim' }],
        [{ text: 'q ends', style: 'dim' }],
      ],
      width,
    ),
    ...(sight.lost === null ? [] : [about('away', [sight.lost, 'trying again'], 'red')]),
    ...(notice === null ? [] : [about('notice', [printable(notice.message)], 'yellow')]),
    about('left', [
      sight.left === 0 ? 'no window' : counted(sight.left, 'window'),
      sight.left === 0 ? null : etaText(sight.etaMs),
      sight.missingMs === 0 ? null : `${duration(sight.missingMs)} missing`,
    ]),
    about(
      'budget',
      [budgetText(sight), kindsText(activity.lanes)],
      isHeldOff(queue.pausedMs) ? 'yellow' : undefined,
    ),
    ...(wait === null ? [] : [about('paused', [wait], 'yellow')]),
    about('points', [`${perSecond(activity.points)} a second over the last minute`]),
    about('answers', [kindsText(activity.verdicts) || 'none in the last minute']),
    about(
      'failures',
      [failed === '' ? 'none in the last hour' : `${failed} in the last hour`],
      failed === '' ? undefined : 'red',
    ),
    ...(aside.every((part) => part === '')
      ? []
      : [about('set aside', [...aside, printable(sight.trouble ?? '')])]),
    about(
      'queue',
      [
        `${count(queue.waiting)} waiting`,
        `${count(queue.active)} active`,
        counted(queue.workers, 'worker'),
        `${count(queue.delayed)} delayed`,
      ],
      queue.workers === 0 && sight.left > 0 ? 'yellow' : undefined,
    ),
  ];
  // The last row is the cursor's.
  const rows = space.rows - 1;
  const shown = head.slice(0, Math.max(1, rows - leastBars));
  const isRoomy = rows - shown.length > leastBars;
  const room = Math.max(1, rows - shown.length - (isRoomy ? 1 : 0));
  const bars =
    sight.series.length === 0
      ? [[{ text: 'no series is tracked: see `tidemark track --help`' }]]
      : groupBars(grouped(sight.series, room), space);
  return [...shown, ...(isRoomy ? [[]] : []), ...bars];
}

/** Points of a minute, as a rate: one digit where there are few. */
export function perSecond(points: number): string {
  const rate = points / 60;
  return rate > 0 && rate < 10 ? rate.toFixed(1) : count(Math.round(rate));
}
