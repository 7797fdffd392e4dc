/** Progress of a backfill: bars on a terminal, a line now and then elsewhere. */

import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import type { SeriesKey } from '../contract/series.ts';
import { seriesName } from '../contract/series.ts';
import { duration, percent } from './wording.ts';

export interface SeriesProgress {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Length of what was missing at the start, and of what has come since, milliseconds of history. */
  readonly wantedMs: number;
  readonly doneMs: number;
  readonly windowsLeft: number;
}

export interface Left {
  readonly windows: number;
  /** Time they take within the budget; null without a limit. */
  readonly expectedMs: number | null;
  /** How long the queue still waits for the source. */
  readonly pausedMs: number;
}

export interface Progress {
  update(series: readonly SeriesProgress[], left: Left): void;
  /** What is done after the last window. The bars are over then. */
  say(what: string): void;
  stop(): void;
}

const lineEveryMs = 5000;

/** @param synthetic marks every line, as all that shows simulated data must. @param quiet shows nothing. */
export function showProgress(options: { quiet: boolean; synthetic: boolean }): Progress {
  if (options.quiet) return { update: () => {}, say: () => {}, stop: () => {} };
  const label = options.synthetic ? '[synthetic] ' : '';
  return process.stdout.isTTY ? bars(label) : lines(label);
}

function bars(label: string): Progress {
  const multi = new MultiBar(
    {
      format: `${label}{name} {bar} {share} {left}`,
      clearOnComplete: false,
      hideCursor: true,
      barsize: 28,
      stopOnComplete: false,
      gracefulExit: false,
    },
    Presets.shades_classic,
  );
  const shown = new Map<number, SingleBar>();
  return {
    update(series, left) {
      const width = Math.max(0, ...series.map((entry) => seriesName(entry.series).length));
      for (const entry of series) {
        const payload = {
          name: seriesName(entry.series).padEnd(width),
          share: percent(entry.doneMs, entry.wantedMs).padStart(8),
          left: entry.windowsLeft === 0 ? 'done' : remaining({ ...left, windows: entry.windowsLeft }),
        };
        const bar = shown.get(entry.seriesId);
        // A bar without any length would show as empty for ever.
        const total = Math.max(1, entry.wantedMs);
        const value = entry.wantedMs === 0 ? 1 : entry.doneMs;
        if (bar === undefined) shown.set(entry.seriesId, multi.create(total, value, payload));
        else bar.update(value, payload);
      }
    },
    say(what) {
      multi.stop();
      console.log(`${label}${what}`);
    },
    stop: () => multi.stop(),
  };
}

function lines(label: string): Progress {
  let nextMs = 0;
  let shown = '';
  return {
    update(series, left) {
      const nowMs = performance.now();
      if (nowMs < nextMs && left.windows > 0) return;
      const wantedMs = series.reduce((sum, entry) => sum + entry.wantedMs, 0);
      const doneMs = series.reduce((sum, entry) => sum + entry.doneMs, 0);
      const rest = left.windows === 0 ? 'nothing left' : remaining(left);
      const line = `${label}backfill ${percent(doneMs, wantedMs)}, ${rest}`;
      if (line === shown) return;
      shown = line;
      nextMs = nowMs + lineEveryMs;
      console.log(line);
    },
    say: (what) => console.log(`${label}${what}`),
    stop: () => {},
  };
}

/** Shorter pauses are the limiter's own spacing. */
const worthMentioningMs = 2000;

function remaining(left: Left): string {
  const time = left.expectedMs === null ? '' : `, about ${duration(Math.max(1000, left.expectedMs))}`;
  const paused =
    left.pausedMs > worthMentioningMs ? `, waiting ${duration(left.pausedMs)} for the source` : '';
  return `${left.windows} window${left.windows === 1 ? '' : 's'} left${paused === '' ? time : paused}`;
}
