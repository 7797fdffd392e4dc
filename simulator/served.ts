/** Serves the simulator's rows as a Market Data Service: filtered, paged, and with the types of the interface. */

import { LosslessNumber, stringify } from 'lossless-json';
import type { DecimalText } from '../model/decimal.ts';
import type { MarketData } from '../service/market-data.ts';
import type { MarketsRequest } from '../v2/requests.ts';
import type { Asset, AssetMarket, Market } from '../v2/resources.ts';
import { contradicting, type Faults, noFaults } from './faults/faults.ts';
import type { Simulator } from './simulator.ts';

/** @param faults may truncate candles and history, or let two rows contradict one another. */
export function simulatedMarketData(
  { truth, candles, history, hasAsset }: Simulator,
  faults: () => Pick<Faults, 'maxRows' | 'capKeeps' | 'answerForm'> = () => noFaults,
): MarketData {
  function cut<Row extends object>(rows: Row[]): Row[] {
    const { maxRows, capKeeps, answerForm } = faults();
    if (maxRows === null) return contradicting(rows, answerForm);
    const kept = capKeeps === 'oldest' ? rows.slice(0, maxRows) : rows.slice(-maxRows);
    return contradicting(kept, answerForm);
  }
  return {
    async assets({ search, ids, limit, offset }, nowMs) {
      const wanted = ids === undefined ? null : new Set(ids.split(','));
      const matching = truth
        .assets(nowMs)
        .filter((asset) => (wanted?.has(asset.id) ?? true) && (search === undefined || matchesSearch(asset, search)));
      return JSON.stringify(matching.slice(offset, offset + limit).map(listedAsset));
    },
    asset: async (id, nowMs) => jsonOf(truth.assets(nowMs), id),
    async assetHistory(series, range, nowMs) {
      const rows = history(series, range, nowMs);
      const points =
        rows &&
        cut(rows).map(
          ({ priceUsd, time }) => `{"priceUsd":${priceUsd},"time":${time},"date":"${new Date(time).toISOString()}"}`,
        );
      return points && { rows: `[${points.join(',')}]` };
    },
    async assetMarkets(id, { limit, offset }, nowMs) {
      if (!hasAsset(id)) return null;
      const rows = truth.assetMarkets(id, nowMs).slice(offset, offset + limit);
      return stringify(rows.map(servedAssetMarket)) ?? '[]';
    },
    async markets(request, nowMs) {
      const matching = truth.markets(nowMs).filter((market) => matchesFilter(market, request));
      return JSON.stringify(matching.slice(request.offset, request.offset + request.limit));
    },
    exchanges: async (nowMs) => JSON.stringify(truth.exchanges(nowMs)),
    exchange: async (id, nowMs) => jsonOf(truth.exchanges(nowMs), id),
    rates: async (nowMs) => JSON.stringify(truth.rates(nowMs)),
    rate: async (id, nowMs) => jsonOf(truth.rates(nowMs), id),
    async candles(series, range, nowMs) {
      const rows = candles(series, range, nowMs);
      return rows && { rows: JSON.stringify(cut(rows)) };
    },
  };
}

function jsonOf(rows: readonly { readonly id: string }[], id: string): string | null {
  const found = rows.find((row) => row.id === id);
  return found === undefined ? null : JSON.stringify(found);
}

/** In a list `rank` is text, and `vwap24Hr` is absent. */
function listedAsset({ rank, vwap24Hr: _, id, ...rest }: Asset) {
  return { id, rank: rank === null ? null : String(rank), ...rest };
}

/** The interface has these figures as JSON numbers. */
function servedAssetMarket(market: AssetMarket) {
  const figure = (text: DecimalText | null) => (text === null ? null : new LosslessNumber(text));
  const { volumeUsd24Hr, priceUsd, volumePercent, ...names } = market;
  return {
    ...names,
    volumeUsd24Hr: figure(volumeUsd24Hr),
    priceUsd: figure(priceUsd),
    volumePercent: figure(volumePercent),
  };
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
