/**
 * The synthetic assets, currencies, exchanges and markets. The names are real, so that examples read well; all figures
 * are invented.
 */

import type { EpochMs, Range } from '../model/intervals.ts';
import { originMs } from './calendar.ts';
import type { WalkShape } from './walk.ts';

export interface AssetPlan extends WalkShape {
  readonly symbol: string;
  readonly name: string;
  /** Whole coins in circulation; `maxSupply` null: unlimited. */
  readonly supply: number;
  readonly maxSupply: number | null;
  readonly currencySymbol: string | null;
}

export const assetPlans: readonly AssetPlan[] = [
  asset('bitcoin', 'BTC', 'Bitcoin', 300, 1.00125, 0.028, 19_900_000, 21_000_000, '₿'),
  asset('ethereum', 'ETH', 'Ethereum', 3, 1.0016, 0.036, 120_400_000, null, 'Ξ'),
  asset('tether', 'USDT', 'Tether', 1, 1, 0.0008, 118_000_000_000, null, '₮'),
  asset('usd-coin', 'USDC', 'USD Coin', 1, 1, 0.0005, 36_000_000_000, null, null),
  asset('binance-coin', 'BNB', 'BNB', 0.6, 1.0015, 0.035, 145_900_000, 200_000_000, null),
  asset('solana', 'SOL', 'Solana', 0.5, 1.0013, 0.05, 468_000_000, null, null),
  asset('xrp', 'XRP', 'XRP', 0.006, 1.0011, 0.042, 56_000_000_000, 100_000_000_000, null),
  asset('cardano', 'ADA', 'Cardano', 0.02, 1.0008, 0.042, 35_000_000_000, 45_000_000_000, null),
  asset('dogecoin', 'DOGE', 'Dogecoin', 0.0002, 1.0014, 0.048, 146_000_000_000, null, 'Ð'),
  asset('litecoin', 'LTC', 'Litecoin', 10, 1.0005, 0.036, 74_900_000, 84_000_000, 'Ł'),
  asset('polkadot', 'DOT', 'Polkadot', 3, 1.0002, 0.045, 1_400_000_000, null, null),
  // Two assets share a symbol, and one id needs percent-encoding: both occur in the field.
  asset('golem-(glm)', 'GLM', 'Golem (GLM)', 0.05, 1.0004, 0.055, 1_000_000_000, 1_000_000_000, null),
  asset('galleon', 'GLM', 'Galleon', 0.000_02, 1.0006, 0.07, 880_000_000_000, null, null),
];

function asset(
  id: string,
  symbol: string,
  name: string,
  startUsd: number,
  dailyGrowth: number,
  dailyVolatility: number,
  supply: number,
  maxSupply: number | null,
  currencySymbol: string | null,
): AssetPlan {
  const pull = dailyGrowth === 1 ? 0.25 : 0.004;
  const walk = { id, startUsd, dailyGrowth, dailyVolatility, pull };
  return { ...walk, symbol, name, supply, maxSupply, currencySymbol };
}

/** A listed asset without markets: its figures are null and its history is empty. */
export const untradedAsset = Object.freeze({ id: 'paycoin', symbol: 'XPY', name: 'PayCoin' });

export interface CurrencyPlan extends WalkShape {
  readonly symbol: string;
  readonly currencySymbol: string | null;
}

export const currencyPlans: readonly CurrencyPlan[] = [
  // The unit of all rates, exactly 1.
  { ...currency('united-states-dollar', 'USD', '$', 1), dailyVolatility: 0, pull: 0 },
  currency('euro', 'EUR', '€', 1.13),
  currency('british-pound-sterling', 'GBP', '£', 1.33),
  currency('swiss-franc', 'CHF', 'CHF', 1.12),
  currency('japanese-yen', 'JPY', '¥', 0.0075),
  currency('chinese-yuan-renminbi', 'CNY', '¥', 0.145),
  currency('australian-dollar', 'AUD', '$', 0.69),
  currency('canadian-dollar', 'CAD', '$', 0.75),
  currency('new-zealand-dollar', 'NZD', '$', 0.62),
  currency('swedish-krona', 'SEK', 'kr', 0.102),
  currency('norwegian-krone', 'NOK', 'kr', 0.104),
  currency('danish-krone', 'DKK', 'kr', 0.151),
  currency('icelandic-króna', 'ISK', 'kr', 0.0076),
  currency('são-tomé-dobra', 'STN', null, 0.046),
  currency('chilean-unit-of-account-(uf)', 'CLF', null, 33.9),
  currency('cfa-franc-bceao', 'XOF', null, 0.001_72),
  currency('comorian-franc', 'KMF', null, 0.0023),
  currency('south-korean-won', 'KRW', null, 0.000_79),
  currency('singapore-dollar', 'SGD', '$', 0.74),
  currency('hong-kong-dollar', 'HKD', '$', 0.128),
  currency('indian-rupee', 'INR', '₹', 0.0124),
  currency('indonesian-rupiah', 'IDR', 'Rp', 0.000_066),
  currency('brazilian-real', 'BRL', 'R$', 0.2),
  currency('mexican-peso', 'MXN', '$', 0.055),
  currency('south-african-rand', 'ZAR', 'S', 0.055),
  currency('turkish-lira', 'TRY', '₺', 0.03),
  currency('polish-zloty', 'PLN', 'zł', 0.25),
  currency('ukrainian-hryvnia', 'UAH', '₴', 0.027),
  currency('malawian-kwacha', 'MWK', 'MK', 0.0011),
];

function currency(id: string, symbol: string, currencySymbol: string | null, startUsd: number): CurrencyPlan {
  return { id, symbol, currencySymbol, startUsd, dailyGrowth: 1, dailyVolatility: 0.005, pull: 0.01 };
}

export interface ExchangePlan {
  readonly id: string;
  readonly name: string;
  readonly exchangeUrl: string;
  readonly socket: boolean;
  /** Relative difference of its prices from the market: 0.0002 is 0.02 % above. */
  readonly premium: number;
  /** Whether prices are multiples of a tick, and so end in zeros. */
  readonly ticked: boolean;
}

export const exchangePlans: readonly ExchangePlan[] = [
  exchange('binance', 'Binance', 'https://www.binance.com/', true, 0),
  // The URL lacks its scheme, as some do in the field.
  { ...exchange('kraken', 'Kraken', 'kraken.com', false, 0.0003), ticked: true },
  exchange('coinbase', 'Coinbase', 'https://pro.coinbase.com/', true, -0.0002),
  exchange('bitso', 'Bitso', 'https://bitso.com/', false, 0.0015),
];

function exchange(id: string, name: string, exchangeUrl: string, socket: boolean, premium: number): ExchangePlan {
  return { id, name, exchangeUrl, socket, premium, ticked: false };
}

/** A closed exchange: still listed, with most figures null. */
export const closedExchange = Object.freeze({ id: 'cryptopia', name: 'Cryptopia' });

export interface MarketPlan {
  readonly exchangeId: string;
  readonly baseId: string;
  readonly quoteId: string;
  /** Typical turnover of a minute, USD. */
  readonly usdPerMinute: number;
  /** Share of minutes without a trade and therefore without a row. */
  readonly missingShare: number;
  /** Start of the first row. */
  readonly beganMs: EpochMs;
  /** Half-open ranges without any row. */
  readonly suspended: readonly Range[];
}

const secondHalf2017 = Date.UTC(2017, 6, 1);
/** Start of dogecoin/tether on binance, the documentation's example of a market that begins late. */
export const bornIn2019Ms: EpochMs = Date.UTC(2019, 5, 1);

export const marketPlans: readonly MarketPlan[] = [
  market('binance', 'bitcoin', 'tether', 900_000),
  market('binance', 'ethereum', 'tether', 600_000),
  market('binance', 'binance-coin', 'tether', 120_000, 0, secondHalf2017),
  market('binance', 'solana', 'tether', 150_000, 0, Date.UTC(2020, 7, 11, 9, 30)),
  market('binance', 'xrp', 'tether', 90_000),
  market('binance', 'cardano', 'tether', 45_000),
  market('binance', 'dogecoin', 'tether', 60_000, 0, bornIn2019Ms),
  market('binance', 'litecoin', 'tether', 25_000, 0.001),
  market('binance', 'polkadot', 'tether', 20_000, 0.001, Date.UTC(2020, 7, 19)),
  market('binance', 'ethereum', 'bitcoin', 40_000),
  market('binance', 'litecoin', 'bitcoin', 4000, 0.02),
  market('binance', 'golem-(glm)', 'bitcoin', 900, 0.35, Date.UTC(2018, 2, 1)),
  market('binance', 'galleon', 'tether', 700, 0.5, Date.UTC(2021, 9, 5, 13, 7)),
  market('kraken', 'bitcoin', 'united-states-dollar', 130_000),
  market('kraken', 'bitcoin', 'euro', 110_000),
  market('kraken', 'ethereum', 'euro', 60_000, 0.002),
  market('kraken', 'tether', 'united-states-dollar', 50_000, 0.01),
  market('kraken', 'litecoin', 'euro', 3000, 0.2),
  market('kraken', 'xrp', 'euro', 9000, 0.05),
  market('coinbase', 'bitcoin', 'united-states-dollar', 400_000),
  market('coinbase', 'ethereum', 'united-states-dollar', 250_000),
  market('coinbase', 'solana', 'united-states-dollar', 70_000, 0, Date.UTC(2021, 4, 24)),
  market('coinbase', 'bitcoin', 'usd-coin', 15_000, 0.03, Date.UTC(2018, 9, 1)),
  market('coinbase', 'dogecoin', 'united-states-dollar', 30_000, 0.001, Date.UTC(2021, 5, 3)),
  market('bitso', 'bitcoin', 'mexican-peso', 2500, 0.3),
  market('bitso', 'xrp', 'mexican-peso', 600, 0.6),
];

function market(
  exchangeId: string,
  baseId: string,
  quoteId: string,
  usdPerMinute: number,
  missingShare = 0,
  beganMs: EpochMs = originMs,
): MarketPlan {
  // A week without trading gives whole empty days.
  const suspended =
    exchangeId === 'kraken' && baseId === 'litecoin'
      ? [{ startMs: Date.UTC(2021, 2, 1), endMs: Date.UTC(2021, 2, 8) }]
      : [];
  return { exchangeId, baseId, quoteId, usdPerMinute, missingShare, beganMs, suspended };
}
