/** Windows as the planner makes them. */

import { minuteMs } from '../../model/intervals.ts';
import type { WindowLane } from '../../model/lanes.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import type { Command, Fill, Window } from '../../model/window.ts';
import type { CommitRules } from '../../store/commit/prepare-window.ts';

interface OfSeries extends Range {
  readonly seriesId: number;
  readonly series: SeriesKey;
}

/** A backfill without witnesses, unless `more` says otherwise. */
export function fillOf({ seriesId, series, startMs, endMs }: OfSeries, more: Partial<Fill> = {}): Fill {
  const range = { startMs, endMs };
  return { seriesId, series, ...range, source: defaultSource, asks: range, lane: 'backfill', ...more };
}

/** A window of the run `a1` of a command, without witnesses. */
export function commandOf(window: OfSeries, lane: Command['lane'], more: Partial<Command> = {}): Command {
  const { startMs, endMs } = window;
  return { ...fillOf(window), lane, run: 'a1', of: { startMs, endMs }, byDays: false, against: null, ...more };
}

export const rulesOf = (emptyConfirmMs: number, graceMs = minuteMs): CommitRules => ({ graceMs, emptyConfirmMs });

/** A window of any lane. */
export function windowOf(of: OfSeries, lane: WindowLane, more: Partial<Pick<Command, 'asks' | 'run'>> = {}): Window {
  if (lane === 'verify' || lane === 'repair') return commandOf(of, lane, more);
  const { run: _, ...asked } = more;
  const fill = fillOf(of, asked);
  return lane === 'reread' ? { ...fill, lane, roundMs: 0 } : { ...fill, lane };
}
