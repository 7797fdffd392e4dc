/** Progress: redrawn on a terminal, an occasional line elsewhere. */

import type { Clock } from '../../clock.ts';
import { aboutText, formatCount, formatDuration, formatPercent, nonEmpty } from '../../model/format.ts';
import {
  isPausedBySource,
  type PointProgress,
  RateEstimator,
  type WindowProgress,
  type WindowsLeft,
} from '../../planning/progress.ts';
import { asFits, bar, openFrame, type Space, type Terminal, terminalOf } from './terminal.ts';

type MonotonicClock = Pick<Clock, 'monotonicMs'>;

export interface View {
  /** For a terminal. */
  readonly lines: (space: Space) => readonly string[];
  /** For a log. */
  readonly line: string;
  /** The last line of a log is printed at once. */
  readonly isLast: boolean;
}

export interface Progress {
  show(view: View): void;
  /** Prints a permanent line below the drawn ones. */
  say(text: string): void;
  /** The last view stays. */
  stop(): void;
}

/** Shows progress on standard error: standard output holds only results. @param label precedes every line. */
export function openProgress(clock: MonotonicClock, label = ''): Progress {
  const say = (text: string) => void process.stderr.write(`${label}${text}\n`);
  const terminal = terminalOf(process.stderr);
  if (terminal !== null) return drawn(clock, terminal, label, say);
  const print = logProgress(clock, say);
  return { show: (view) => print(view.line, view.isLast), say, stop: () => {} };
}

const drawEveryMs = 100;

function drawn(clock: MonotonicClock, terminal: Terminal, label: string, print: (text: string) => void): Progress {
  let shown: View | null = null;
  let nextMs = 0;
  const frame = openFrame(terminal, { redraw: draw });

  function draw(): void {
    if (shown === null) return;
    const space = terminal.space();
    const lines = shown.lines({ ...space, columns: space.columns - label.length });
    nextMs = clock.monotonicMs() + drawEveryMs;
    frame.draw(lines.map((line) => label + line));
  }

  function stop(): void {
    draw();
    shown = null;
    frame.end();
  }

  return {
    show(view) {
      shown = view;
      if (clock.monotonicMs() >= nextMs) draw();
    },
    say(text) {
      stop();
      print(text);
    },
    stop,
  };
}

/** A log gets its first line after a second, as short work needs none, and then one every 10 s. */
const firstLineMs = 1000;
const lineEveryMs = 10_000;

/** @returns a function that prints a line if it is new and due. The last line is due if any was printed. */
export function logProgress(
  clock: MonotonicClock,
  print: (line: string) => void,
): (line: string, isLast: boolean) => void {
  let nextMs = clock.monotonicMs() + firstLineMs;
  let shown = '';
  return (line, isLast) => {
    const nowMs = clock.monotonicMs();
    const isDue = nowMs >= nextMs || (isLast && shown !== '');
    if (!isDue || line === shown) return;
    shown = line;
    nextMs = nowMs + lineEveryMs;
    print(line);
  };
}

/** `waiting 5 min for the source`; null: the source has not paused requests. */
export function waitText(pausedMs: number): string | null {
  return isPausedBySource(pausedMs) ? `waiting ${formatDuration(pausedMs)} for the source` : null;
}

/** Empty where it is not known. */
export function etaText(ms: number | null): string {
  return ms === null ? '' : aboutText(ms);
}

const barWidth = 28;

/** One line: the bar, if the total is known, and as many of the other parts as fit. */
function barLine(
  what: string,
  { done, of }: { done: number; of: number | null },
  [first = '', ...rest]: readonly string[],
  space: Space,
): string {
  const { columns } = space;
  const share = of === null ? '' : `${bar(done, of, Math.min(barWidth, Math.floor(columns / 4)), space)} `;
  return asFits([`${what} ${share}${first}`, ...rest], columns - 1);
}

/** @param of the total; null: unknown. @param things the unit, if it is not points. */
export function showPointProgress(
  clock: MonotonicClock,
  what: string,
  of: number | null,
  things = 'points',
): PointProgress {
  const progress = openProgress(clock);
  const pace = new RateEstimator(clock);
  return {
    update(done) {
      pace.addDone(done);
      const perSecond = pace.perSecond();
      const parts = [
        `${formatCount(done)} ${of === null ? things : `of ${formatCount(of)} ${things}, ${formatPercent(done, of)}`}`,
        ...(perSecond === null ? [] : [`${formatCount(Math.round(perSecond))} ${things} a second`]),
        ...(of === null || done >= of ? [] : nonEmpty([etaText(pace.timeLeftMs(of - done))])),
      ];
      progress.show({
        lines: (space) => [barLine(what, { done, of }, parts, space)],
        line: `${what}: ${parts.join(', ')}`,
        isLast: false,
      });
    },
    stop: progress.stop,
  };
}

/** Shows the progress of `verify` and `repair`. */
export function showWindowProgress(clock: MonotonicClock, what: string): WindowProgress {
  const progress = openProgress(clock);
  const pace = new RateEstimator(clock);
  return {
    update(left) {
      pace.addDone(left.done);
      progress.show(windowView(what, left, pace.timeLeftMs(left.of - left.done, left.perMinute)));
    },
    stop: progress.stop,
  };
}

function windowView(what: string, left: WindowsLeft, etaMs: number | null): View {
  const isLast = left.done >= left.of;
  const ahead = left.ahead > 0 ? `${formatCount(left.ahead)} of refresh and backfill are queued` : null;
  const parts = [
    `${formatCount(left.done)} of ${formatCount(left.of)} windows`,
    ...(isLast ? [] : nonEmpty([waitText(left.pausedMs) ?? ahead ?? etaText(etaMs)])),
  ];
  return { lines: (space) => [barLine(what, left, parts, space)], line: `${what} ${parts.join(', ')}`, isLast };
}
