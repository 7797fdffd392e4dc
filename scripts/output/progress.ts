/** Progress: redrawn on a terminal, an occasional line elsewhere. */

import { formatCount, formatDuration, formatPercent } from '../../format.ts';
import {
  isPausedBySource,
  type PointProgress,
  RateEstimator,
  type ShowPoints,
  type WindowProgress,
  type WindowsLeft,
} from '../../operations/progress.ts';
import { asFits, bar, openFrame, type Space, type Terminal, terminalOf } from './terminal.ts';

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

export interface ProgressOptions {
  readonly stream: NodeJS.WriteStream;
  /** Shows nothing. */
  readonly quiet: boolean;
  /** Precedes every line. */
  readonly label?: string;
  /** Delay of the first line of a log: short work needs none. */
  readonly quietForMs?: number;
}

export function openProgress(options: ProgressOptions): Progress {
  if (options.quiet) return { show: () => {}, say: () => {}, stop: () => {} };
  const { stream, label = '' } = options;
  const say = (text: string) => void stream.write(`${label}${text}\n`);
  const terminal = terminalOf(stream);
  if (terminal !== null) return drawn(terminal, label, say);
  const print = logProgress(say, options.quietForMs);
  return { show: (view) => print(view.line, view.isLast), say, stop: () => {} };
}

const drawEveryMs = 100;

function drawn(terminal: Terminal, label: string, print: (text: string) => void): Progress {
  let shown: View | null = null;
  let nextMs = 0;
  const frame = openFrame(terminal, { whole: false, redraw: draw });

  function draw(): void {
    if (shown === null) return;
    const space = terminal.space();
    const lines = shown.lines({ ...space, columns: space.columns - label.length });
    nextMs = performance.now() + drawEveryMs;
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
      if (performance.now() >= nextMs) draw();
    },
    say(text) {
      stop();
      print(text);
    },
    stop,
  };
}

/** A log gets a line every 5 s in the first minute, then every 30 s. */
const lineEveryMs = 5000;
const laterEveryMs = 30_000;
const firstMs = 60_000;

/** @returns a function that prints a line if it is new and due. @param quietForMs delay of the first line. */
export function logProgress(
  print: (line: string) => void,
  quietForMs = 0,
  now: () => number = () => performance.now(),
): (line: string, isLast: boolean) => void {
  const startedMs = now();
  let nextMs = startedMs + quietForMs;
  let shown = '';
  return (line, isLast) => {
    const nowMs = now();
    if ((nowMs < nextMs && !isLast) || line === shown) return;
    shown = line;
    nextMs = nowMs + (nowMs - startedMs < firstMs ? lineEveryMs : laterEveryMs);
    print(line);
  };
}

/** `waiting 5 min for the source`; null: the source has not paused requests. */
export function waitText(pausedMs: number): string | null {
  return isPausedBySource(pausedMs) ? `waiting ${formatDuration(pausedMs)} for the source` : null;
}

/** @param ms null: unknown. */
export function etaText(ms: number | null): string {
  return `ETA ${ms === null ? '-' : formatDuration(Math.max(1000, ms))}`;
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

/**
 * Shows the progress of points on standard error: standard output may carry the points.
 *
 * @param of the total; null: unknown. @param things the unit, if it is not points.
 */
export function showPointProgress(
  what: string,
  { of, quiet, things = 'points' }: { of: number | null; quiet: boolean; things?: string },
): PointProgress {
  const progress = openProgress({ stream: process.stderr, quiet, quietForMs: lineEveryMs });
  const pace = new RateEstimator();
  return {
    update(done) {
      pace.addDone(done);
      const perSecond = pace.perSecond();
      const parts = [
        `${formatCount(done)} ${of === null ? things : `of ${formatCount(of)} ${things}, ${formatPercent(done, of)}`}`,
        ...(perSecond === null ? [] : [`${formatCount(Math.round(perSecond))} ${things} a second`]),
        ...(of === null || done >= of ? [] : [etaText(pace.timeLeftMs(of - done, { perMinute: 0 }))]),
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

export function pointProgress(quiet: boolean): ShowPoints {
  return (what, of) => showPointProgress(what, { of, quiet });
}

/** Shows the progress of `verify` and `repair`. */
export function showWindowProgress(what: string, quiet: boolean): WindowProgress {
  const progress = openProgress({ stream: process.stdout, quiet });
  const pace = new RateEstimator();
  return {
    update(left) {
      pace.addDone(left.done);
      progress.show(windowView(what, left, pace.timeLeftMs(left.of - left.done, left)));
    },
    stop: progress.stop,
  };
}

function windowView(what: string, left: WindowsLeft, etaMs: number | null): View {
  const isLast = left.done >= left.of;
  const ahead = left.ahead > 0 ? `${formatCount(left.ahead)} of refresh and backfill come first` : null;
  const parts = [
    `${formatCount(left.done)} of ${formatCount(left.of)} windows`,
    ...(isLast ? [] : [waitText(left.pausedMs) ?? ahead ?? etaText(etaMs)]),
  ];
  return {
    lines: (space) => [barLine(what, left, parts, space)],
    line: `${what} ${parts.join(', ')}`,
    isLast,
  };
}
