/**
 * CoinCap's version 3: the histories and lists of a Market Data Service. It has no candles of exchanges.
 *
 * Source: pro.coincap.io/api-docs, and its pages on credits and on error responses.
 */

import { dayMs, minuteMs } from '../../model/intervals.ts';
import { longestServicePauseMs, refusal } from '../error-response.ts';
import { lists, offer } from './market-data-service.ts';
import type { Profile } from './profile.ts';

export const coincapV3: Profile = {
  name: 'coincap-v3',
  url: 'https://rest.coincap.io/v3',
  exchange: null,
  kinds: ['spot'],
  limits: () => [
    { unit: 'request', amount: 600, periodMs: minuteMs },
    // Of the free plan, for a month. As many days as the longest month has: whenever a month begins there, none is
    // exceeded. A request costs one, and one more for each 2,500 bytes of its answer. A recorded row has 142.
    { unit: 'credit', amount: 4000, periodMs: 31 * dayMs, bytesEach: 2500, rowBytes: 142 },
  ],
  // Of histories, as in version 2.
  offers: [offer('asset_history', 'unknown')],
  lists,
  files: null,
  longestPauseMs: longestServicePauseMs,
  keyHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  // A key may read all of it or nothing.
  refusal: (reply, nowMs) => refusal(reply, nowMs, 'unauthorized'),
};
