/** Progress of asking for windows: a bar on a terminal, a line now and then elsewhere. */

import { Presets, SingleBar } from 'cli-progress';
import { count, duration } from './wording.ts';

export interface WindowsLeft {
  readonly done: number;
  readonly of: number;
  /** Time the rest takes within the budget; null without a limit. */
  readonly expectedMs: number | null;
  /** How long the queue still waits for the source. */
  readonly pausedMs: number;
  /** Windows in the queue that come first. */
  readonly ahead: number;
}

export interface WindowProgress {
  update(left: WindowsLeft): void;
  stop(): void;
}

const lineEveryMs = 5000;
/** Shorter pauses are the limiter's own spacing. */
const worthMentioningMs = 2000;

/** @param what is done, such as `verify`. @param quiet shows nothing. */
export function showWindowProgress(what: string, quiet: boolean): WindowProgress {
  if (quiet) return { update: () => {}, stop: () => {} };
  return process.stdout.isTTY ? bar(what) : lines(what);
}

function bar(what: string): WindowProgress {
  const single = new SingleBar(
    {
      format: `${what} {bar} {value} of {total} windows{rest}`,
      clearOnComplete: false,
      hideCursor: true,
      barsize: 28,
      stopOnComplete: false,
      gracefulExit: false,
    },
    Presets.shades_classic,
  );
  let isStarted = false;
  return {
    update(left) {
      const rest = restOf(left);
      if (isStarted) single.update(left.done, { rest });
      else single.start(left.of, left.done, { rest });
      isStarted = true;
    },
    stop: () => single.stop(),
  };
}

function lines(what: string): WindowProgress {
  let nextMs = 0;
  let shown = '';
  return {
    update(left) {
      const nowMs = performance.now();
      if (nowMs < nextMs && left.done < left.of) return;
      const line = `${what} ${count(left.done)} of ${count(left.of)} windows${restOf(left)}`;
      if (line === shown) return;
      shown = line;
      nextMs = nowMs + lineEveryMs;
      console.log(line);
    },
    stop: () => {},
  };
}

function restOf(left: WindowsLeft): string {
  if (left.done >= left.of) return '';
  if (left.pausedMs > worthMentioningMs) return `, waiting ${duration(left.pausedMs)} for the source`;
  if (left.ahead > 0) return `, ${count(left.ahead)} of refresh and backfill come first`;
  return left.expectedMs === null ? '' : `, about ${duration(Math.max(1000, left.expectedMs))}`;
}
