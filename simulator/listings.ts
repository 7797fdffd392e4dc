/** Builds the snapshots of assets, markets, exchanges and rates from the figures of one minute. */

import { dayMs, type EpochMs, minuteMs } from '../model/intervals.ts';
import type { Asset, AssetMarket, Exchange, Market, Rate } from '../v2/resources.ts';
import { minuteOf, minuteStartMs } from './calendar.ts';
import { closedExchange, exchangePlans, untradedAsset } from './catalogue.ts';
import { fixedText } from './digits.ts';
import {
  intermittentAsset,
  intermittentAssetName,
  intermittentExchange,
  isIntermittentListed,
  isListed,
  unminedSupply,
} from './faults/changes.ts';
import { type MarketFigures, one, usdPriceAt } from './figures.ts';
import { hashAt, streamKey } from './hash.ts';
import { priceText } from './history.ts';
import type { World } from './world.ts';

const dayMinutes = dayMs / minuteMs;
/** Fraction digits of an exchange's share; in the field it has far more than any other figure. */
const shareDigits = 36;

/** All assets by rank, largest market capitalisation first. */
export function listAssets(world: World, figures: readonly MarketFigures[], nowMs: EpochMs): Asset[] {
  const minute = minuteOf(nowMs);
  const listed = [...world.assets.values()].map(({ plan, walk }) => {
    const price = usdPriceAt(walk, minute);
    const before = usdPriceAt(walk, minute - dayMinutes);
    const traded = figures.filter((market) => market.traded.plan.baseId === plan.id);
    const volume = sum(traded.map((market) => market.volume));
    const turnover = sum(traded.map((market) => market.hourlyTurnoverUsd));
    const supply = BigInt(plan.supply - unminedSupply(plan.id, nowMs));
    const cap = price * supply;
    const asset: Omit<Asset, 'rank'> = {
      id: plan.id,
      symbol: plan.symbol,
      name: plan.name,
      supply: fixedText(supply * one),
      maxSupply: plan.maxSupply === null ? null : fixedText(BigInt(plan.maxSupply) * one),
      marketCapUsd: fixedText(cap),
      volumeUsd24Hr: fixedText(sum(traded.map((market) => market.volumeUsd))),
      priceUsd: fixedText(price),
      changePercent24Hr: fixedText(((price - before) * 100n * one) / before),
      vwap24Hr: volume === 0n ? null : fixedText((turnover * one) / volume),
    };
    return { asset, cap };
  });
  listed.sort((a, b) => (a.cap > b.cap ? -1 : 1));
  const nothing = { volumeUsd24Hr: fixedText(0n), priceUsd: null, changePercent24Hr: null, vwap24Hr: null };
  const none = { supply: fixedText(0n), maxSupply: null, marketCapUsd: fixedText(0n), ...nothing };
  const intermittent = { ...intermittentAsset, name: intermittentAssetName(nowMs), ...none };
  const untraded = [{ ...untradedAsset, ...none }, ...(isIntermittentListed(nowMs) ? [intermittent] : [])];
  const assets = [...listed.map((entry) => entry.asset), ...untraded];
  return assets.map(({ id, ...rest }, index) => ({ id, rank: index + 1, ...rest }));
}

/** All markets by exchange and rank. An exchange without a socket reports no trade counts. */
export function listMarkets(figures: readonly MarketFigures[], nowMs: EpochMs): Market[] {
  return exchangePlans
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap((exchange) => {
      const own = figures.filter(({ traded }) => traded.exchange === exchange && isListed(traded.plan, nowMs));
      const total = sum(own.map((market) => market.volumeUsd));
      return own
        .toSorted(byVolume)
        .map(
          (market, index): Market => ({
            exchangeId: exchange.id,
            rank: index + 1,
            baseSymbol: market.traded.base.plan.symbol,
            baseId: market.traded.plan.baseId,
            quoteSymbol: market.traded.quote.plan.symbol,
            quoteId: market.traded.plan.quoteId,
            priceQuote: fixedText(market.priceQuote),
            priceUsd: fixedText(market.priceUsd),
            volumeUsd24Hr: market.volume === 0n ? null : fixedText(market.volumeUsd),
            percentExchangeVolume: total === 0n ? null : fixedText((market.volumeUsd * 100n * one) / total),
            tradesCount24Hr: exchange.socket ? Number(market.volumeUsd / one / 400n) : null,
            updated: minuteStartMs(minuteOf(nowMs)),
          }),
        );
    });
}

/** Markets with the asset as base or quote: those without volume first, then by descending volume. */
export function listAssetMarkets(figures: readonly MarketFigures[], assetId: string, nowMs: EpochMs): AssetMarket[] {
  const own = figures.filter(
    ({ traded: { plan } }) => (plan.baseId === assetId || plan.quoteId === assetId) && isListed(plan, nowMs),
  );
  const total = sum(own.map((market) => market.volumeUsd));
  const silent = own.filter((market) => market.volume === 0n);
  const traded = own.filter((market) => market.volume !== 0n).toSorted(byVolume);
  return [...silent, ...traded].map((market) => ({
    // The display name, not the id, as in the field.
    exchangeId: market.traded.exchange.name,
    baseId: market.traded.plan.baseId,
    quoteId: market.traded.plan.quoteId,
    baseSymbol: market.traded.base.plan.symbol,
    quoteSymbol: market.traded.quote.plan.symbol,
    volumeUsd24Hr: market.volume === 0n ? null : fixedText(market.volumeUsd),
    priceUsd: fixedText(market.priceUsd),
    volumePercent: market.volume === 0n ? null : fixedText((market.volumeUsd * 100n * one) / total),
  }));
}

/** All exchanges by rank. */
export function listExchanges(figures: readonly MarketFigures[], nowMs: EpochMs): Exchange[] {
  const updated = minuteStartMs(minuteOf(nowMs));
  const total = sum(figures.map((market) => market.volumeUsd));
  const listed = exchangePlans.map((plan) => {
    const own = figures.filter((market) => market.traded.exchange === plan);
    return { plan, pairs: own.length, volumeUsd: sum(own.map((market) => market.volumeUsd)) };
  });
  listed.sort((a, b) => (a.volumeUsd > b.volumeUsd ? -1 : 1));
  const open = listed.map(
    ({ plan, pairs, volumeUsd }, index): Exchange => ({
      id: plan.id,
      name: plan.name,
      rank: index + 1,
      percentTotalVolume:
        total === 0n ? null : fixedText((volumeUsd * 100n * 10n ** BigInt(shareDigits)) / total, shareDigits),
      volumeUsd: fixedText(volumeUsd),
      tradingPairs: pairs,
      socket: plan.socket,
      exchangeUrl: plan.exchangeUrl,
      updated,
    }),
  );
  const volumes = { percentTotalVolume: null, volumeUsd: null, tradingPairs: 0 };
  const none = { ...volumes, socket: null, exchangeUrl: null };
  const closed = [closedExchange, ...(isIntermittentListed(nowMs) ? [intermittentExchange] : [])];
  return [
    ...open,
    ...closed.map((exchange, index) => ({ ...exchange, rank: open.length + 1 + index, ...none, updated })),
  ];
}

/** All rates at the minute of `atMs`, in an arbitrary but fixed order. */
export function listRates(world: World, atMs: EpochMs): Rate[] {
  const minute = minuteOf(atMs);
  const shuffle = streamKey(world.seed, 'rates');
  return [...world.currencies.values()]
    .map(({ plan, walk }, index) => ({ plan, walk, order: hashAt(shuffle, index) }))
    .sort((a, b) => a.order - b.order)
    .map(({ plan, walk }) => ({
      id: plan.id,
      symbol: plan.symbol,
      currencySymbol: plan.currencySymbol,
      rateUsd: priceText(walk, walk.at(minute)),
      type: world.assets.has(plan.id) ? 'crypto' : 'fiat',
    }));
}

function byVolume(a: MarketFigures, b: MarketFigures): number {
  return a.volumeUsd > b.volumeUsd ? -1 : a.volumeUsd < b.volumeUsd ? 1 : 0;
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
