/** Windows: what the planner hands to the queue. */

import { longestRangeMs } from '../v2/limits.ts';
import { type CandleInterval, type EpochMs, type HistoryInterval, type Interval, intervalMs } from './intervals.ts';
import type { WindowLane } from './lanes.ts';
import type { Range } from './ranges.ts';
import type { SeriesKey } from './series.ts';

/** A half-open range of one series that one request fetches. */
export interface Window extends Range {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly lane: WindowLane;
  /** The requested range where it is more than the window: with the period before and after it. */
  readonly requested?: Range;
  /** Id of the command run that requested it, and gets its result. */
  readonly run?: string;
  /** End of the command's window, if only the first part is requested. */
  readonly askedEndMs?: EpochMs;
  /** Requested by days, as a probe is. */
  readonly byDays?: boolean;
  /** The source that was asked; absent in the queue, which is that of a source. */
  readonly source?: string;
  /** Compared with another source than the series' own, which is named by `source`. */
  readonly isAgainst?: boolean;
  /** The market as that source names it. */
  readonly symbol?: string;
  /** Start of the round of its reread. */
  readonly roundMs?: EpochMs;
}

/** Key of a source's limit on the range of a request: dataset and interval. */
export type RangeKey = `${SeriesKey['dataset']} ${SeriesKey['interval']}`;

export function rangeKey(window: Asked): RangeKey {
  return `${window.series.dataset} ${askedInterval(window)}`;
}

/** The interval of the window's request. */
export function askedInterval(window: Asked): Interval {
  return isProbe(window) ? 'd1' : window.series.interval;
}

/** Whether the window searches for the beginning of the series. */
export function isProbe({ lane, byDays }: Pick<Asked, 'lane' | 'byDays'>): boolean {
  return lane === 'probe' || byDays === true;
}

type Asked = Pick<Window, 'series' | 'byDays'> & { readonly lane?: WindowLane };

/** Longest ranges that replace those of the interface, milliseconds. */
export interface RangeLimits {
  readonly candles?: Partial<Readonly<Record<CandleInterval, number>>>;
  readonly asset_history?: Partial<Readonly<Record<HistoryInterval, number>>>;
}

/**
 * Longest range of one request of the series, milliseconds; at least one period.
 *
 * @param accepted longest ranges that the source accepted after refusing longer ones.
 */
export function longestRange(
  series: SeriesKey,
  limits: RangeLimits = {},
  accepted: ReadonlyMap<RangeKey, number> = new Map(),
): number {
  const range =
    series.dataset === 'candles'
      ? (limits.candles?.[series.interval] ?? longestRangeMs[series.interval])
      : (limits.asset_history?.[series.interval] ?? longestRangeMs[series.interval]);
  const longestMs = Math.min(range, accepted.get(rangeKey({ series })) ?? range);
  return Math.max(longestMs, intervalMs[series.interval]);
}

/**
 * Adds the period before and after the window to its request, if the request's limit allows. Their points are
 * witnesses: an answer with one on either side of a silence was not truncated there. A window of the full length of a
 * request has no room for them; its rest has.
 *
 * @param spanMs longest range of a request of the series.
 */
export function withWitnesses<Asked extends Range & Pick<Window, 'series'>>(
  window: Asked,
  spanMs: number,
): Asked & Pick<Window, 'requested'> {
  const { startMs, endMs, series } = window;
  const periodMs = intervalMs[series.interval];
  if (endMs - startMs + 2 * periodMs > spanMs) return window;
  return { ...window, requested: { startMs: startMs - periodMs, endMs: endMs + periodMs } };
}

/** Number of requests for a range. */
export function requestsFor(range: Range, longestRangeMs: number): number {
  return Math.max(0, Math.ceil((range.endMs - range.startMs) / longestRangeMs));
}
