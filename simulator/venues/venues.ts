/** Every simulated venue, by the name of its profile. */

import { binance } from './binance.ts';
import { bybit } from './bybit.ts';
import { coinbase } from './coinbase.ts';
import { kraken } from './kraken.ts';
import { okx } from './okx.ts';
import type { Venue, VenueName } from './venue.ts';

export const venues: Readonly<Record<VenueName, Venue>> = { binance, kraken, coinbase, bybit, okx };
