/** The interface between the routes and the data. An implementation can be served as a Market Data Service. */

import type { EpochMs } from '../model/intervals.ts';
import type { CandleSeries, HistorySeries, SeriesKey, TimeRange } from '../model/series.ts';
import type { Coverage } from '../v2/coverage-header.ts';
import type { AssetsRequest, MarketsRequest, PageRequest } from '../v2/requests.ts';

/**
 * JSON text of a resource or of an array of resources. It is text so that the database can write it, with every digit.
 */
export type JsonText = string;

export interface SeriesAnswer {
  readonly rows: JsonText;
  /** Absent when the implementation does not distinguish an empty range from an unknown one. */
  readonly coverage?: Coverage;
  /** Interval of the series from which the rows are derived; absent: they are stored. */
  readonly derivedFrom?: string;
}

/**
 * Null means an unknown id or market. Lists are in the order in which they are served.
 * `nowMs` becomes the timestamp of the response: no row may be later.
 */
export interface MarketData {
  assets(request: AssetsRequest, nowMs: EpochMs): Promise<JsonText>;
  asset(id: string, nowMs: EpochMs): Promise<JsonText | null>;
  /** Points of the series, ascending. */
  assetHistory(series: HistorySeries, range: TimeRange, nowMs: EpochMs): Promise<SeriesAnswer | null>;
  /** Markets with the asset as base or quote. */
  assetMarkets(id: string, page: PageRequest, nowMs: EpochMs): Promise<JsonText | null>;
  markets(request: MarketsRequest, nowMs: EpochMs): Promise<JsonText>;
  exchanges(nowMs: EpochMs): Promise<JsonText>;
  exchange(id: string, nowMs: EpochMs): Promise<JsonText | null>;
  rates(nowMs: EpochMs): Promise<JsonText>;
  rate(id: string, nowMs: EpochMs): Promise<JsonText | null>;
  /** Candles of the series, ascending, including the open one. */
  candles(series: CandleSeries, range: TimeRange, nowMs: EpochMs): Promise<SeriesAnswer | null>;
  /**
   * Points of a series of any dataset, ascending, with decimals as text. Absent: it has the specified interface alone.
   */
  points?(series: SeriesKey, range: TimeRange, nowMs: EpochMs): Promise<SeriesAnswer | null>;
}
