/** Every profile, by its name. */

import { binance, binanceUs } from './binance.ts';
import { binanceArchive } from './binance-archive.ts';
import { binanceArchiveDaily } from './binance-archive-daily.ts';
import { bybit } from './bybit.ts';
import { coinbase } from './coinbase.ts';
import { coincapV3 } from './coincap-v3.ts';
import { kraken } from './kraken.ts';
import { marketDataService } from './market-data-service.ts';
import { okx } from './okx.ts';
import type { Profile } from './profile.ts';

export const profiles: Readonly<Record<string, Profile>> = Object.freeze({
  'market-data-service': marketDataService,
  'coincap-v3': coincapV3,
  binance,
  'binance-archive': binanceArchive,
  'binance-archive-daily': binanceArchiveDaily,
  'binance-us': binanceUs,
  bybit,
  coinbase,
  kraken,
  okx,
});
