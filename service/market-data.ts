/** What the routes read through: whoever implements this can be served as a Market Data Service. */

import type { EpochMs } from '../contract/intervals.ts';
import type { AssetsRequest, MarketsRequest, PageRequest } from '../contract/requests.ts';
import type {
  Asset,
  AssetMarket,
  Candle,
  Exchange,
  HistoryPoint,
  Market,
  Rate,
} from '../contract/resources.ts';
import type { CandleSeries, HistorySeries } from '../contract/series.ts';

/** Half-open, by the rows' own times. */
export interface TimeRange {
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
}

/**
 * Null stands for an unknown id, or an unknown market. Lists come in the order in which they are served.
 * `nowMs` is the time that the answer will be stamped with: nothing later may be in it.
 */
export interface MarketData {
  assets(request: AssetsRequest, nowMs: EpochMs): Promise<Asset[]>;
  asset(id: string, nowMs: EpochMs): Promise<Asset | null>;
  /** Points of the series, ascending. */
  assetHistory(series: HistorySeries, range: TimeRange, nowMs: EpochMs): Promise<HistoryPoint[] | null>;
  /** Markets on which the asset is base or quote. */
  assetMarkets(id: string, page: PageRequest, nowMs: EpochMs): Promise<AssetMarket[] | null>;
  markets(request: MarketsRequest, nowMs: EpochMs): Promise<Market[]>;
  exchanges(nowMs: EpochMs): Promise<Exchange[]>;
  exchange(id: string, nowMs: EpochMs): Promise<Exchange | null>;
  rates(nowMs: EpochMs): Promise<Rate[]>;
  rate(id: string, nowMs: EpochMs): Promise<Rate | null>;
  /** Candles of the series, ascending, the running one included. */
  candles(series: CandleSeries, range: TimeRange, nowMs: EpochMs): Promise<Candle[] | null>;
}
