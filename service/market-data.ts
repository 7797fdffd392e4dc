/** What the routes read through: whoever implements this can be served as a Market Data Service. */

import type { StatedCoverage } from '../contract/coverage-header.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { AssetsRequest, MarketsRequest, PageRequest } from '../contract/requests.ts';
import type { CandleSeries, HistorySeries } from '../contract/series.ts';

/** Half-open, by the rows' own times. */
export interface TimeRange {
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
  /** What lies before is not shown, and counts as not covered. Absent: everything is shown. */
  readonly visibleFromMs?: EpochMs;
}

/**
 * JSON text, as the interface types the resource: an object, or an array of them. Text and not values, so that whoever
 * holds the data may write it once, with every digit; a database can do so itself.
 */
export type JsonText = string;

/** How much of the closed periods of an answer's range the holder knows. */
export interface Coverage extends StatedCoverage {
  /** From `0` to `1`, rounded down: 1 means all of it. */
  readonly share: string;
  /** Ranges that are missing, be they told one by one or not. */
  readonly gaps: number;
}

export interface SeriesAnswer {
  readonly rows: JsonText;
  /** Absent where the holder makes no difference between what did not happen and what it does not know. */
  readonly coverage?: Coverage;
}

/**
 * Null stands for an unknown id, or an unknown market. Lists come in the order in which they are served.
 * `nowMs` is the time that the answer will be stamped with: nothing later may be in it.
 */
export interface MarketData {
  assets(request: AssetsRequest, nowMs: EpochMs): Promise<JsonText>;
  asset(id: string, nowMs: EpochMs): Promise<JsonText | null>;
  /** Points of the series, ascending. */
  assetHistory(series: HistorySeries, range: TimeRange, nowMs: EpochMs): Promise<SeriesAnswer | null>;
  /** Markets on which the asset is base or quote. */
  assetMarkets(id: string, page: PageRequest, nowMs: EpochMs): Promise<JsonText | null>;
  markets(request: MarketsRequest, nowMs: EpochMs): Promise<JsonText>;
  exchanges(nowMs: EpochMs): Promise<JsonText>;
  exchange(id: string, nowMs: EpochMs): Promise<JsonText | null>;
  rates(nowMs: EpochMs): Promise<JsonText>;
  rate(id: string, nowMs: EpochMs): Promise<JsonText | null>;
  /** Candles of the series, ascending, the running one included. */
  candles(series: CandleSeries, range: TimeRange, nowMs: EpochMs): Promise<SeriesAnswer | null>;
}
