/** Progress of asking for windows. */

import { Pace } from './pace.ts';
import { bar } from './terminal/bar.ts';
import { asFits } from './terminal/lines.ts';
import { openProgress, type View } from './terminal/progress.ts';
import { etaText, waitText } from './time-left.ts';
import { count } from './wording.ts';

export interface WindowsLeft {
  readonly done: number;
  readonly of: number;
  /** The most requests in a minute; 0: no limit. */
  readonly perMinute: number;
  /** How long the queue still waits for the source. */
  readonly pausedMs: number;
  /** Windows in the queue that come first. */
  readonly ahead: number;
}

export interface WindowProgress {
  update(left: WindowsLeft): void;
  stop(): void;
}

const barWidth = 28;

/** @param what is done, such as `verify`. @param quiet shows nothing. */
export function showWindowProgress(what: string, quiet: boolean): WindowProgress {
  const progress = openProgress({ stream: process.stdout, quiet });
  const pace = new Pace();
  return {
    update(left) {
      pace.sawDone(left.done);
      progress.show(viewOf(what, left, pace.timeLeftMs(left.of - left.done, left)));
    },
    stop: progress.stop,
  };
}

function viewOf(what: string, left: WindowsLeft, etaMs: number | null): View {
  const windows = `${count(left.done)} of ${count(left.of)} windows`;
  const isLast = left.done >= left.of;
  const ahead = left.ahead > 0 ? `${count(left.ahead)} of refresh and backfill come first` : null;
  const rest = isLast ? [] : [waitText(left.pausedMs) ?? ahead ?? etaText(etaMs)];
  return {
    lines: ({ columns, glyphs }) => [
      asFits(
        [
          [
            { text: `${what} ` },
            ...bar(left.done, left.of, Math.min(barWidth, Math.floor(columns / 4)), glyphs),
            { text: ` ${windows}` },
          ],
          ...rest.map((text) => [{ text }]),
        ],
        columns - 1,
      ),
    ],
    line: [`${what} ${windows}`, ...rest].join(', '),
    isLast,
  };
}
