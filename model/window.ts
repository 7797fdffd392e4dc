/** Windows: the ranges that a request is to settle, one request each. The planner hands them to the queue. */

import { eventReachMs } from './datasets/index.ts';
import { type EpochMs, type Interval, intervalMs, periodStart } from './intervals.ts';
import type { Range } from './ranges.ts';
import type { SeriesKey } from './series.ts';

/** Closed periods that a refresh reads again: most late changes come in the first minutes after a period. */
export const refreshedPeriods = 2;

interface OneRequest extends Range {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** The source that is asked. */
  readonly source: string;
  /** The range of the request: the window, with the period before and after it where there is room. */
  readonly asks: Range;
}

/** A gap. */
export interface Fill extends OneRequest {
  readonly lane: 'refresh' | 'backfill';
}

/** A long range, requested by days to find where the series begins (planning/beginning.ts). */
export interface Probe extends OneRequest {
  readonly lane: 'probe';
}

interface Reread extends OneRequest {
  readonly lane: 'reread';
  /** Start of the round. */
  readonly roundMs: EpochMs;
}

/** A covered range that a command requests again. */
export interface Command extends OneRequest {
  readonly lane: 'verify' | 'repair';
  /** Id of the run of the command, which gets the result. */
  readonly run: string;
  /** The window of the command. This one is its first part, if the source accepts no longer range. */
  readonly of: Range;
  /** Requested by days, as a probe is. */
  readonly byDays: boolean;
  /** Another source than the series' own is compared: its name of the market. Null: the series' own source. */
  readonly against: { readonly symbol: string } | null;
}

export type Window = Fill | Probe | Reread | Command;

/** Whether the window asks for days, and settles where the series begins. */
export function isProbe(window: Window): window is Probe | Command {
  return window.lane === 'probe' || (isCommand(window) && window.byDays);
}

export function isCommand(window: Window): window is Command {
  return window.lane === 'verify' || window.lane === 'repair';
}

/** The interval of the window's request. */
export function askedInterval(window: Window): Interval {
  return isProbe(window) ? 'd1' : window.series.interval;
}

/** A request for the range alone. */
export function asksAlone({ startMs, endMs }: Range): Pick<Window, 'asks'> {
  return { asks: { startMs, endMs } };
}

/** A request for the newest range: of events with those before it, whose distances tell when the next one is due. */
export function asksNewest({ startMs, endMs }: Range, { dataset }: SeriesKey): Pick<Window, 'asks'> {
  return { asks: { startMs: startMs - eventReachMs(dataset), endMs } };
}

/** A request for the days of the range. The day that contains its start begins before it. */
export function asksDays({ startMs, endMs }: Range): Pick<Window, 'asks'> {
  return { asks: { startMs: periodStart(startMs, 'd1'), endMs } };
}

/**
 * A request for the window, in the file of an archive that has it. Of events the file's rows beside it are witnesses:
 * the one after a window states how long ago the one before it was. Of other datasets a file shows each period itself.
 */
export function asksFile<W extends Range & Pick<Window, 'series'>>(window: W, file: Range): W & Pick<Window, 'asks'> {
  const { startMs, endMs, series } = window;
  const reachMs = eventReachMs(series.dataset);
  const asks = {
    startMs: Math.min(startMs, Math.max(startMs - reachMs, file.startMs)),
    endMs: Math.max(endMs, Math.min(endMs + reachMs, file.endMs)),
  };
  return { ...window, asks };
}

/**
 * A request for the window with the period before and after it (of events the time in which one is due), if the
 * request's limit allows. Their points are witnesses: an answer with one on either side of a silence was not truncated
 * there. A window of the full length of a request has no room for them; its rest has. That of events always has.
 *
 * @param spanMs longest window of the series.
 */
export function withWitnesses<W extends Range & Pick<Window, 'series'>>(
  window: W,
  spanMs: number,
): W & Pick<Window, 'asks'> {
  const { startMs, endMs, series } = window;
  const ofEventsMs = eventReachMs(series.dataset);
  const reachMs = ofEventsMs || intervalMs[series.interval];
  const hasRoom = ofEventsMs > 0 || endMs - startMs + 2 * reachMs <= spanMs;
  return { ...window, asks: hasRoom ? { startMs: startMs - reachMs, endMs: endMs + reachMs } : { startMs, endMs } };
}

/** Whether the request is longer than the window. */
export function hasWitnesses({ startMs, endMs, asks }: Range & Pick<Window, 'asks'>): boolean {
  return asks.startMs < startMs || asks.endMs > endMs;
}
