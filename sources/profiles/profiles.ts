/** Every profile, by its name. */

import { binance, binanceUs } from './binance.ts';
import { binanceArchive } from './binance-archive.ts';
import { binanceArchiveDaily } from './binance-archive-daily.ts';
import { binanceCoinm, binanceUsdm, binanceUsdmData, binanceUsdmFunding } from './binance-futures.ts';
import { binanceUsdmArchive, binanceUsdmArchiveDaily } from './binance-usdm-archive.ts';
import { bybit } from './bybit.ts';
import { bybitLinear } from './bybit-linear.ts';
import { coinbase } from './coinbase.ts';
import { coincapV3 } from './coincap-v3.ts';
import { kraken } from './kraken.ts';
import { marketDataService } from './market-data-service.ts';
import { okx } from './okx.ts';
import { okxSwap, okxSwapData } from './okx-swap.ts';
import type { Profile } from './profile.ts';

export const profiles: Readonly<Record<string, Profile>> = Object.freeze({
  'market-data-service': marketDataService,
  'coincap-v3': coincapV3,
  binance,
  'binance-archive': binanceArchive,
  'binance-archive-daily': binanceArchiveDaily,
  'binance-us': binanceUs,
  'binance-coinm': binanceCoinm,
  'binance-usdm': binanceUsdm,
  'binance-usdm-funding': binanceUsdmFunding,
  'binance-usdm-data': binanceUsdmData,
  'binance-usdm-archive': binanceUsdmArchive,
  'binance-usdm-archive-daily': binanceUsdmArchiveDaily,
  bybit,
  'bybit-linear': bybitLinear,
  coinbase,
  kraken,
  okx,
  'okx-swap': okxSwap,
  'okx-swap-data': okxSwapData,
});
