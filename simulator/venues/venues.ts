/** Every simulated venue, by the name of its profile. */

import { binance, binanceUs } from './binance.ts';
import { binanceArchive } from './binance-archive.ts';
import { binanceCoinm } from './binance-coinm.ts';
import { binanceUsdm } from './binance-usdm.ts';
import { bybit } from './bybit.ts';
import { bybitLinear } from './bybit-linear.ts';
import { coinbase } from './coinbase.ts';
import { coincapV3 } from './coincap.ts';
import { kraken } from './kraken.ts';
import { okx } from './okx.ts';
import { okxSwap } from './okx-swap.ts';
import type { Venue, VenueName, VenueOptions } from './venue.ts';

export const venues: Readonly<Record<VenueName, (options: VenueOptions) => Venue>> = {
  binance: () => binance,
  'binance-us': () => binanceUs,
  'binance-coinm': () => binanceCoinm,
  // Three budgets of one address.
  'binance-usdm': () => binanceUsdm,
  'binance-usdm-funding': () => binanceUsdm,
  'binance-usdm-data': () => binanceUsdm,
  kraken: () => kraken,
  coinbase: () => coinbase,
  bybit: () => bybit,
  'bybit-linear': () => bybitLinear,
  okx: () => okx,
  'okx-swap': () => okxSwap,
  'okx-swap-data': () => okxSwap,
  'coincap-v3': coincapV3,
  'binance-archive': () => binanceArchive,
  // All files are at one address.
  'binance-archive-daily': () => binanceArchive,
  'binance-usdm-archive': () => binanceArchive,
  'binance-usdm-archive-daily': () => binanceArchive,
};
