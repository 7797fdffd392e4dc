/** The interface between the routes and the data. An implementation can be served as a Market Data Service. */

import type { StatedCoverage } from '../contract/coverage-header.ts';
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
import {
  renderAsset,
  renderAssetMarket,
  renderCandle,
  renderExchange,
  renderHistoryPoint,
  renderList,
  renderListedAsset,
  renderMarket,
  renderRate,
} from './render.ts';

/** Half-open, by the rows' own times. */
export interface TimeRange {
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
  /** Earlier rows are hidden and count as not covered. Absent: all rows are visible. */
  readonly visibleFromMs?: EpochMs;
}

/**
 * JSON text of a resource or of an array of resources. It is text so that the database can write it, with every digit.
 */
export type JsonText = string;

/** The known part of the closed periods of a response's range. */
export interface Coverage extends StatedCoverage {
  /** From `0` to `1`, rounded down: 1 means complete. */
  readonly share: string;
  /** Number of missing ranges, including those that `missing` omits. */
  readonly gaps: number;
}

export interface SeriesAnswer {
  readonly rows: JsonText;
  /** Absent when the implementation does not distinguish an empty range from an unknown one. */
  readonly coverage?: Coverage;
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
}

/** Like {@link MarketData} with rows instead of JSON text, for an implementation that holds its data in memory. */
export interface MarketRows {
  assets(request: AssetsRequest, nowMs: EpochMs): Promise<Asset[]>;
  asset(id: string, nowMs: EpochMs): Promise<Asset | null>;
  assetHistory(series: HistorySeries, range: TimeRange, nowMs: EpochMs): Promise<HistoryPoint[] | null>;
  assetMarkets(id: string, page: PageRequest, nowMs: EpochMs): Promise<AssetMarket[] | null>;
  markets(request: MarketsRequest, nowMs: EpochMs): Promise<Market[]>;
  exchanges(nowMs: EpochMs): Promise<Exchange[]>;
  exchange(id: string, nowMs: EpochMs): Promise<Exchange | null>;
  rates(nowMs: EpochMs): Promise<Rate[]>;
  rate(id: string, nowMs: EpochMs): Promise<Rate | null>;
  candles(series: CandleSeries, range: TimeRange, nowMs: EpochMs): Promise<Candle[] | null>;
}

/** Renders rows as JSON text. */
export function renderMarketData(data: MarketRows): MarketData {
  return {
    assets: async (request, nowMs) => renderList(await data.assets(request, nowMs), renderListedAsset),
    asset: async (id, nowMs) => known(await data.asset(id, nowMs), renderAsset),
    assetHistory: async (series, range, nowMs) =>
      known(await data.assetHistory(series, range, nowMs), (rows) => ({
        rows: renderList(rows, renderHistoryPoint),
      })),
    assetMarkets: async (id, page, nowMs) =>
      known(await data.assetMarkets(id, page, nowMs), (rows) => renderList(rows, renderAssetMarket)),
    markets: async (request, nowMs) => renderList(await data.markets(request, nowMs), renderMarket),
    exchanges: async (nowMs) => renderList(await data.exchanges(nowMs), renderExchange),
    exchange: async (id, nowMs) => known(await data.exchange(id, nowMs), renderExchange),
    rates: async (nowMs) => renderList(await data.rates(nowMs), renderRate),
    rate: async (id, nowMs) => known(await data.rate(id, nowMs), renderRate),
    candles: async (series, range, nowMs) =>
      known(await data.candles(series, range, nowMs), (rows) => ({ rows: renderList(rows, renderCandle) })),
  };
}

function known<Value, Result>(value: Value | null, render: (value: Value) => Result): Result | null {
  return value === null ? null : render(value);
}
