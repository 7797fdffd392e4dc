/** Every simulated venue, by the name of its profile. */

import { binance, binanceUs } from './binance.ts';
import { binanceArchive } from './binance-archive.ts';
import { bybit } from './bybit.ts';
import { coinbase } from './coinbase.ts';
import { coincapV3 } from './coincap.ts';
import { kraken } from './kraken.ts';
import { okx } from './okx.ts';
import type { Venue, VenueName, VenueOptions } from './venue.ts';

export const venues: Readonly<Record<VenueName, (options: VenueOptions) => Venue>> = {
  binance: () => binance,
  'binance-us': () => binanceUs,
  kraken: () => kraken,
  coinbase: () => coinbase,
  bybit: () => bybit,
  okx: () => okx,
  'coincap-v3': coincapV3,
  'binance-archive': () => binanceArchive,
  // Files of both kinds are at one address.
  'binance-archive-daily': () => binanceArchive,
};
