/** What the planner hands to the queue: windows, and why each is asked for. */

import {
  type CandleInterval,
  type EpochMs,
  type HistoryInterval,
  intervalMs,
} from '../contract/intervals.ts';
import { longestCandleRangeMs, longestHistoryRangeMs } from '../contract/limits.ts';
import type { SeriesKey } from '../contract/series.ts';
import type { Range } from './ranges.ts';

/**
 * `refresh` asks for the newest data and outranks `backfill`, which fills what lies before. The others read again what is
 * covered: `reread` the trailing range on a schedule, `repair` and `verify` what a command of that name asks for.
 */
export type Lane = 'refresh' | 'backfill' | 'reread' | 'repair' | 'verify';

/** A half-open range of one series that one request fetches. */
export interface Window extends Range {
  readonly seriesId: number;
  readonly series: SeriesKey;
  readonly lane: Lane;
  /** Which run of a command asks for it, and is to be told what came of it. */
  readonly run?: string;
  /** Start of the round in which it reads the trailing range again. */
  readonly roundMs?: EpochMs;
}

/** Longest ranges to use instead of the interface's, milliseconds. */
export interface RangeLimits {
  readonly candles?: Partial<Readonly<Record<CandleInterval, number>>>;
  readonly asset_history?: Partial<Readonly<Record<HistoryInterval, number>>>;
}

/** Longest range that one request of the series may span, milliseconds; at least one period. */
export function longestRange(series: SeriesKey, limits: RangeLimits = {}): number {
  const range =
    series.dataset === 'candles'
      ? (limits.candles?.[series.interval] ?? longestCandleRangeMs[series.interval])
      : (limits.asset_history?.[series.interval] ?? longestHistoryRangeMs[series.interval]);
  return Math.max(range, intervalMs[series.interval]);
}

/** How many requests a range costs: the number of windows it is cut into. */
export function requestsFor(range: Range, longestRangeMs: number): number {
  return Math.max(0, Math.ceil((range.endMs - range.startMs) / longestRangeMs));
}
