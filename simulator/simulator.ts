/**
 * A synthetic Market Data Service. Its data depends on a seed and the time alone, covers any time since 2010 without
 * storage, and is consistent across intervals.
 */

import { dayMs, type EpochMs } from '../contract/intervals.ts';
import type { MarketsRequest } from '../contract/requests.ts';
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
import type { MarketRows, TimeRange } from '../service/market-data.ts';
import { originMs } from './calendar.ts';
import { untradedAsset } from './catalogue.ts';
import { intermittentAsset, type Revision, Revisions } from './faults/changes.ts';
import { Figures } from './figures.ts';
import { listAssetMarkets, listAssets, listExchanges, listMarkets, listRates } from './listings.ts';
import { createWorld, marketKey } from './world.ts';

export interface SimulatorOptions {
  readonly seed: string | number;
  /** The default `asOfMs` of the truth. */
  readonly now: () => EpochMs;
}

const neverTraded: readonly string[] = [untradedAsset.id, intermittentAsset.id];

/**
 * The correct data without limits and faults. A response with timestamp T is the truth as of T, to the last digit of the
 * open candle. `asOfMs` defaults to the clock's time.
 */
export interface Truth {
  /** Candles whose period starts in `range`. @throws RangeError for an unknown market. */
  candles(series: CandleSeries, range: TimeRange, asOfMs?: EpochMs): Candle[];
  /** @throws RangeError for an unknown asset. */
  history(series: HistorySeries, range: TimeRange, asOfMs?: EpochMs): HistoryPoint[];
  rates(asOfMs?: EpochMs): Rate[];
  assets(asOfMs?: EpochMs): Asset[];
  exchanges(asOfMs?: EpochMs): Exchange[];
  markets(asOfMs?: EpochMs): Market[];
  assetMarkets(assetId: string, asOfMs?: EpochMs): AssetMarket[];
}

export interface Simulator extends MarketRows {
  readonly truth: Truth;
  /** Changes the truth retroactively. */
  revise(revision: Revision): void;
}

export function createSimulator({ seed, now }: SimulatorOptions): Simulator {
  const world = createWorld(String(seed));
  const figures = new Figures(world);
  const revisions = new Revisions();
  function candles(series: CandleSeries, range: TimeRange, asOfMs: EpochMs): Candle[] | null {
    const traded = world.markets.get(marketKey(series.exchange, series.baseId, series.quoteId));
    const rows = traded?.candles.rows(series.interval, range, asOfMs) ?? null;
    return rows && revisions.candles(series, range, rows, asOfMs);
  }

  function history(series: HistorySeries, range: TimeRange, asOfMs: EpochMs): HistoryPoint[] | null {
    if (neverTraded.includes(series.assetId)) return [];
    const rows = world.assets.get(series.assetId)?.history.points(series.interval, range, asOfMs) ?? null;
    return rows && revisions.history(series, range, rows, asOfMs);
  }

  /** Snapshots begin on the second day, because they compare with the previous day. */
  const listed = (nowMs: EpochMs) => Math.max(nowMs, originMs + dayMs);
  const allAssets = (nowMs: EpochMs) => listAssets(world, figures.at(listed(nowMs)), listed(nowMs));
  const allExchanges = (nowMs: EpochMs) => listExchanges(figures.at(listed(nowMs)), listed(nowMs));
  const allMarkets = (nowMs: EpochMs) => listMarkets(figures.at(listed(nowMs)), listed(nowMs));
  const marketsOf = (id: string, nowMs: EpochMs) =>
    listAssetMarkets(figures.at(listed(nowMs)), id, listed(nowMs));
  const allRates = (nowMs: EpochMs) => listRates(world, listed(nowMs));

  return {
    async assets({ search, ids, limit, offset }, nowMs) {
      const wanted = ids === undefined ? null : new Set(ids.split(','));
      const matching = allAssets(nowMs).filter(
        (asset) => (wanted?.has(asset.id) ?? true) && (search === undefined || matchesSearch(asset, search)),
      );
      return matching.slice(offset, offset + limit);
    },
    async asset(id, nowMs) {
      return allAssets(nowMs).find((asset) => asset.id === id) ?? null;
    },
    async assetHistory(series, range, nowMs) {
      return history(series, range, nowMs);
    },
    async assetMarkets(id, { limit, offset }, nowMs) {
      if (!world.assets.has(id) && !neverTraded.includes(id)) return null;
      return marketsOf(id, nowMs).slice(offset, offset + limit);
    },
    async markets(request, nowMs) {
      const { limit, offset } = request;
      return allMarkets(nowMs)
        .filter((market) => matchesFilter(market, request))
        .slice(offset, offset + limit);
    },
    async exchanges(nowMs) {
      return allExchanges(nowMs);
    },
    async exchange(id, nowMs) {
      return allExchanges(nowMs).find((exchange) => exchange.id === id) ?? null;
    },
    async rates(nowMs) {
      return allRates(nowMs);
    },
    async rate(id, nowMs) {
      return allRates(nowMs).find((rate) => rate.id === id) ?? null;
    },
    async candles(series, range, nowMs) {
      return candles(series, range, nowMs);
    },
    truth: {
      candles: (series, range, asOfMs = now()) => known(candles(series, range, asOfMs), series),
      history: (series, range, asOfMs = now()) => known(history(series, range, asOfMs), series),
      rates: (asOfMs = now()) => allRates(asOfMs),
      assets: (asOfMs = now()) => allAssets(asOfMs),
      exchanges: (asOfMs = now()) => allExchanges(asOfMs),
      markets: (asOfMs = now()) => allMarkets(asOfMs),
      assetMarkets: (assetId, asOfMs = now()) => marketsOf(assetId, asOfMs),
    },
    revise: (revision) => revisions.add(revision),
  };
}

function known<Value>(value: Value | null, series: CandleSeries | HistorySeries): Value {
  if (value === null) throw new RangeError(`the simulator has no such series: ${JSON.stringify(series)}`);
  return value;
}

/** A search matches the beginning of an id or symbol, ignoring case. */
function matchesSearch(asset: Asset, search: string): boolean {
  const start = search.toLowerCase();
  return asset.id.toLowerCase().startsWith(start) || asset.symbol.toLowerCase().startsWith(start);
}

function matchesFilter(market: Market, request: MarketsRequest): boolean {
  const same = (value: string, asked: string | undefined) => asked === undefined || value === asked;
  const alike = (value: string, asked: string | undefined) =>
    asked === undefined || value.toLowerCase() === asked.toLowerCase();
  return (
    same(market.exchangeId, request.exchangeId) &&
    same(market.baseId, request.baseId) &&
    same(market.quoteId, request.quoteId) &&
    alike(market.baseSymbol, request.baseSymbol) &&
    alike(market.quoteSymbol, request.quoteSymbol) &&
    (same(market.baseId, request.assetId) || same(market.quoteId, request.assetId)) &&
    (alike(market.baseSymbol, request.assetSymbol) || alike(market.quoteSymbol, request.assetSymbol))
  );
}
