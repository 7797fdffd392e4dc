/** Market data as rows: what a holder implements that has its data in memory. `rendered` makes it servable. */

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
import type { MarketData, TimeRange } from './market-data.ts';
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

/** As {@link MarketData}, with rows in place of their JSON text. */
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

export function rendered(data: MarketRows): MarketData {
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
