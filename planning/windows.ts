/** What the planner hands to the queue: windows, and why each is asked for. */

import {
  type CandleInterval,
  type EpochMs,
  type HistoryInterval,
  type Interval,
  intervalMs,
} from '../contract/intervals.ts';
import { longestCandleRangeMs, longestHistoryRangeMs } from '../contract/limits.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { Range } from './ranges.ts';

/**
 * `refresh` asks for the newest data and outranks `backfill`, which fills what lies before. `probe` asks by days where
 * the series begins (beginning.ts), and fills nothing. The others read again what is covered: `reread` the trailing
 * range on a schedule, `repair` and `verify` what a command of that name asks for.
 */
export type Lane = 'refresh' | 'backfill' | 'probe' | 'reread' | 'repair' | 'verify';

/** A half-open range of one series that one request fetches. */
export interface Window extends Range {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly lane: Lane;
  /** Which run of a command asks for it, and is to be told what came of it. */
  readonly run?: string;
  /** End of what that command asked for, where only its beginning is asked of the source. */
  readonly askedEndMs?: EpochMs;
  /** Asked for by days, as a probe is. */
  readonly byDays?: boolean;
  /** Start of the round in which it reads the trailing range again. */
  readonly roundMs?: EpochMs;
}

/** What a source's limit on the range of a request is for: dataset and interval. */
export type RangeKey = `${SeriesKey['dataset']} ${SeriesKey['interval']}`;

export function rangeKey(window: Asked): RangeKey {
  return `${window.series.dataset} ${askedInterval(window)}`;
}

/** The interval that the window's request names. */
export function askedInterval(window: Asked): Interval {
  return isProbe(window) ? 'd1' : window.series.interval;
}

/** Whether the window asks where the series begins, and not for its points. */
export function isProbe({ lane, byDays }: Pick<Asked, 'lane' | 'byDays'>): boolean {
  return lane === 'probe' || byDays === true;
}

type Asked = Pick<Window, 'series' | 'byDays'> & { readonly lane?: Lane };

/** Longest ranges to use instead of the interface's, milliseconds. */
export interface RangeLimits {
  readonly candles?: Partial<Readonly<Record<CandleInterval, number>>>;
  readonly asset_history?: Partial<Readonly<Record<HistoryInterval, number>>>;
}

/**
 * Longest range that one request of the series may span, milliseconds; at least one period.
 *
 * @param accepted ranges beyond which the source was seen to refuse.
 */
export function longestRange(
  series: SeriesKey,
  limits: RangeLimits = {},
  accepted: ReadonlyMap<RangeKey, number> = new Map(),
): number {
  const range =
    series.dataset === 'candles'
      ? (limits.candles?.[series.interval] ?? longestCandleRangeMs[series.interval])
      : (limits.asset_history?.[series.interval] ?? longestHistoryRangeMs[series.interval]);
  const longestMs = Math.min(range, accepted.get(rangeKey({ series })) ?? range);
  return Math.max(longestMs, intervalMs[series.interval]);
}

/** How many requests a range costs: the number of windows it is cut into. */
export function requestsFor(range: Range, longestRangeMs: number): number {
  return Math.max(0, Math.ceil((range.endMs - range.startMs) / longestRangeMs));
}
