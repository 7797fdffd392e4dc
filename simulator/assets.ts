/** The synthetic assets. Names are those of the real ones, so that examples read well; every figure is invented. */

import type { WalkShape } from './walk.ts';

export interface AssetPlan extends WalkShape {
  readonly symbol: string;
  readonly name: string;
  /** Whole coins in circulation and at most; null when there is no limit. */
  readonly supply: number;
  readonly maxSupply: number | null;
  readonly currencySymbol: string | null;
}

type Row = [
  id: string,
  symbol: string,
  name: string,
  startUsd: number,
  dailyGrowth: number,
  dailyVolatility: number,
  supply: number,
  maxSupply: number | null,
  currencySymbol: string | null,
];

const rows: Row[] = [
  ['bitcoin', 'BTC', 'Bitcoin', 300, 1.00125, 0.028, 19_900_000, 21_000_000, '₿'],
  ['ethereum', 'ETH', 'Ethereum', 3, 1.0016, 0.036, 120_400_000, null, 'Ξ'],
  ['tether', 'USDT', 'Tether', 1, 1, 0.0008, 118_000_000_000, null, '₮'],
  ['usd-coin', 'USDC', 'USD Coin', 1, 1, 0.0005, 36_000_000_000, null, null],
  ['binance-coin', 'BNB', 'BNB', 0.6, 1.0015, 0.035, 145_900_000, 200_000_000, null],
  ['solana', 'SOL', 'Solana', 0.5, 1.0013, 0.05, 468_000_000, null, null],
  ['xrp', 'XRP', 'XRP', 0.006, 1.0011, 0.042, 56_000_000_000, 100_000_000_000, null],
  ['cardano', 'ADA', 'Cardano', 0.02, 1.0008, 0.042, 35_000_000_000, 45_000_000_000, null],
  ['dogecoin', 'DOGE', 'Dogecoin', 0.0002, 1.0014, 0.048, 146_000_000_000, null, 'Ð'],
  ['litecoin', 'LTC', 'Litecoin', 10, 1.0005, 0.036, 74_900_000, 84_000_000, 'Ł'],
  ['polkadot', 'DOT', 'Polkadot', 3, 1.0002, 0.045, 1_400_000_000, null, null],
  // Two assets share a symbol, and one id needs percent-encoding: both occur in the field.
  ['golem-(glm)', 'GLM', 'Golem (GLM)', 0.05, 1.0004, 0.055, 1_000_000_000, 1_000_000_000, null],
  ['galleon', 'GLM', 'Galleon', 0.000_02, 1.0006, 0.07, 880_000_000_000, null, null],
];

export const assetPlans: readonly AssetPlan[] = rows.map(
  ([id, symbol, name, startUsd, dailyGrowth, dailyVolatility, supply, maxSupply, currencySymbol]) => ({
    id,
    symbol,
    name,
    startUsd,
    dailyGrowth,
    dailyVolatility,
    pull: dailyGrowth === 1 ? 0.25 : 0.004,
    supply,
    maxSupply,
    currencySymbol,
  }),
);

/** An asset that is listed, but trades nowhere: its figures are null and its history is empty. */
export const untradedAsset = Object.freeze({ id: 'paycoin', symbol: 'XPY', name: 'PayCoin' });
