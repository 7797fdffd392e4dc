/**
 * What is not listed at all times, what is renamed, and what becomes more: so that snapshots have something to show.
 */

import { dayMs, type EpochMs, hourMs } from '../contract/intervals.ts';
import type { MarketPlan } from './markets.ts';

/** An asset and an exchange that come and go, and trade nowhere. */
export const wanderingAsset = Object.freeze({ id: 'nomadcoin', symbol: 'NMD', name: 'NomadCoin' });
export const wanderingExchange = Object.freeze({ id: 'caravan', name: 'Caravan' });

const renamedMs: EpochMs = Date.UTC(2024, 6, 1);

/** They, and one market, are not listed from six in the morning until noon, UTC. */
export function isWanderingListed(nowMs: EpochMs): boolean {
  const hour = Math.floor((nowMs % dayMs) / hourMs);
  return hour < 6 || hour >= 12;
}

export function isListed({ exchangeId, baseId }: MarketPlan, nowMs: EpochMs): boolean {
  return !(exchangeId === 'bitso' && baseId === 'xrp') || isWanderingListed(nowMs);
}

export function wanderingName(nowMs: EpochMs): string {
  return nowMs < renamedMs ? wanderingAsset.name : `${wanderingAsset.name} (new)`;
}

const minedADay = 450;
const fullSupplyMs: EpochMs = Date.UTC(2030, 0, 1);

/** Coins of bitcoin fewer than there will be. */
export function notYetMined(assetId: string, nowMs: EpochMs): number {
  if (assetId !== 'bitcoin') return 0;
  return Math.max(0, Math.ceil((fullSupplyMs - nowMs) / dayMs)) * minedADay;
}
