/** Every profile, by its name. */

import { binance } from './binance.ts';
import { marketDataService } from './market-data-service.ts';
import type { Profile } from './profile.ts';

export const profiles: Readonly<Record<string, Profile>> = Object.freeze({
  'market-data-service': marketDataService,
  binance,
});
