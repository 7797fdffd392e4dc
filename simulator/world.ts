/** Builds the walks, markets and histories from a seed. */

import { CandleMaker } from './candles.ts';
import {
  type AssetPlan,
  assetPlans,
  type CurrencyPlan,
  currencyPlans,
  type ExchangePlan,
  exchangePlans,
  type MarketPlan,
  marketPlans,
} from './catalogue.ts';
import { createOutages } from './faults/outages.ts';
import { AssetHistory } from './history.ts';
import { SimulatedMarket } from './market.ts';
import { Walk } from './walk.ts';

export interface SimulatedCurrency {
  readonly plan: AssetPlan | CurrencyPlan;
  readonly walk: Walk;
}

export interface SimulatedAsset extends SimulatedCurrency {
  readonly plan: AssetPlan;
  readonly history: AssetHistory;
}

export interface TradedMarket {
  readonly plan: MarketPlan;
  readonly exchange: ExchangePlan;
  readonly base: SimulatedCurrency;
  readonly quote: SimulatedCurrency;
  readonly market: SimulatedMarket;
  readonly candles: CandleMaker;
}

export type World = ReturnType<typeof createWorld>;

export function marketKey(exchangeId: string, baseId: string, quoteId: string): string {
  return `${exchangeId}\u0000${baseId}\u0000${quoteId}`;
}

export function createWorld(seed: string) {
  const outages = createOutages(seed);
  const assets = new Map<string, SimulatedAsset>();
  /** Assets and fiat currencies alike. */
  const currencies = new Map<string, SimulatedCurrency>();
  for (const plan of assetPlans) {
    const walk = new Walk(seed, plan);
    const asset = { plan, walk, history: new AssetHistory(seed, plan.id, walk, outages) };
    assets.set(plan.id, asset);
    currencies.set(plan.id, asset);
  }
  for (const plan of currencyPlans) currencies.set(plan.id, { plan, walk: new Walk(seed, plan) });

  /** By {@link marketKey}. */
  const markets = new Map<string, TradedMarket>();
  for (const plan of marketPlans) {
    const exchange = exchangePlans.find((candidate) => candidate.id === plan.exchangeId);
    const base = currencies.get(plan.baseId);
    const quote = currencies.get(plan.quoteId);
    if (exchange === undefined || base === undefined || quote === undefined) {
      throw new RangeError(`a market of something unknown: ${plan.exchangeId} ${plan.baseId}/${plan.quoteId}`);
    }
    const market = new SimulatedMarket(seed, plan, exchange, base.walk, quote.walk, outages);
    const traded = { plan, exchange, base, quote, market, candles: new CandleMaker(market) };
    markets.set(marketKey(plan.exchangeId, plan.baseId, plan.quoteId), traded);
  }
  return { seed, assets, currencies, markets };
}
