/** A source of a profile at a local server that gives one answer to every request. */

import { profiles } from '../../../sources/profiles/profiles.ts';
import type { SourceOptions } from '../../../sources/source.ts';
import { clockAt } from '../../parts/test-clock.ts';
import { nowMs } from '../failure-at.ts';
import { serveBody, sourceAt } from '../local-server.ts';

export async function venueAt(
  name: string,
  body: unknown,
  {
    status = 200,
    headers = {},
    ...options
  }: Partial<SourceOptions> & { status?: number; headers?: Record<string, string> } = {},
) {
  const profile = profiles[name];
  if (profile === undefined) throw new Error(`no profile ${name}`);
  const server = await serveBody(body, status, headers);
  const path = profile.url === null ? '/v2' : new URL(profile.url).pathname.replace(/\/$/, '');
  const baseUrl = new URL(server.baseUrl).origin + path;
  return { server, source: sourceAt(baseUrl, { profile, clock: clockAt(() => nowMs), ...options }) };
}

/** A market of each profile of an exchange, in its own name. */
export const symbols: Readonly<Record<string, string>> = {
  binance: 'BTCUSDT',
  'binance-coinm': 'BTCUSD_PERP',
  'binance-us': 'BTCUSDT',
  'binance-usdm': 'BTCUSDT',
  bybit: 'BTCUSDT',
  'bybit-linear': 'BTCUSDT',
  coinbase: 'BTC-USD',
  kraken: 'XBTUSD',
  okx: 'BTC-USDT',
  'okx-swap': 'BTC-USDT-SWAP',
};

/** A request of candles, without a range. */
export function market(name: string) {
  return { exchange: name, baseId: 'bitcoin', quoteId: 'tether', symbol: symbols[name] };
}
