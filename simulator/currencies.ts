/** The synthetic fiat currencies, for `/rates` and as quotes of markets. */

import type { WalkShape } from './walk.ts';

export interface CurrencyPlan extends WalkShape {
  readonly symbol: string;
  readonly currencySymbol: string | null;
}

const rows: [id: string, symbol: string, currencySymbol: string | null, startUsd: number][] = [
  ['euro', 'EUR', '€', 1.13],
  ['british-pound-sterling', 'GBP', '£', 1.33],
  ['swiss-franc', 'CHF', 'CHF', 1.12],
  ['japanese-yen', 'JPY', '¥', 0.0075],
  ['chinese-yuan-renminbi', 'CNY', '¥', 0.145],
  ['australian-dollar', 'AUD', '$', 0.69],
  ['canadian-dollar', 'CAD', '$', 0.75],
  ['new-zealand-dollar', 'NZD', '$', 0.62],
  ['swedish-krona', 'SEK', 'kr', 0.102],
  ['norwegian-krone', 'NOK', 'kr', 0.104],
  ['danish-krone', 'DKK', 'kr', 0.151],
  ['icelandic-króna', 'ISK', 'kr', 0.0076],
  ['são-tomé-dobra', 'STN', null, 0.046],
  ['chilean-unit-of-account-(uf)', 'CLF', null, 33.9],
  ['cfa-franc-bceao', 'XOF', null, 0.001_72],
  ['comorian-franc', 'KMF', null, 0.0023],
  ['south-korean-won', 'KRW', null, 0.000_79],
  ['singapore-dollar', 'SGD', '$', 0.74],
  ['hong-kong-dollar', 'HKD', '$', 0.128],
  ['indian-rupee', 'INR', '₹', 0.0124],
  ['indonesian-rupiah', 'IDR', 'Rp', 0.000_066],
  ['brazilian-real', 'BRL', 'R$', 0.2],
  ['mexican-peso', 'MXN', '$', 0.055],
  ['south-african-rand', 'ZAR', 'S', 0.055],
  ['turkish-lira', 'TRY', '₺', 0.03],
  ['polish-zloty', 'PLN', 'zł', 0.25],
  ['ukrainian-hryvnia', 'UAH', '₴', 0.027],
  ['malawian-kwacha', 'MWK', 'MK', 0.0011],
];

export const currencyPlans: readonly CurrencyPlan[] = [
  // The unit of every rate: exactly one.
  {
    id: 'united-states-dollar',
    symbol: 'USD',
    currencySymbol: '$',
    startUsd: 1,
    dailyGrowth: 1,
    dailyVolatility: 0,
    pull: 0,
  },
  ...rows.map(([id, symbol, currencySymbol, startUsd]) => ({
    id,
    symbol,
    currencySymbol,
    startUsd,
    dailyGrowth: 1,
    dailyVolatility: 0.005,
    pull: 0.01,
  })),
];
