/** Suggestions for names that are not known. */

import { closest, distance } from 'fastest-levenshtein';
import type { AssetSeries, MarketSeries } from '../model/series.ts';

/** The nearest known name, if at most one character in three differs (at least one may); else null. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const found = closest(name, [...known]);
  const most = Math.max(1, Math.floor(name.length / 3));
  return found !== undefined && distance(name, found) <= most ? found : null;
}

/** `: did you mean "bitcoin"?`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearest(name, known);
  return meant === null ? '' : `: did you mean ${JSON.stringify(meant)}?`;
}

export interface KnownNames {
  readonly exchanges: readonly string[];
  /** Of histories, and bases and quotes of markets. */
  readonly assets: readonly string[];
  /** Whether a list of all assets is stored. */
  readonly listsAssets: boolean;
}

/** Exchanges that are known before anything is stored: those that a profile asks. */
export const exchangesOfProfiles: readonly string[] = ['binance', 'binance-us', 'bybit', 'coinbase', 'kraken', 'okx'];

/** Of a market or an asset that a source does not know: `: did you mean "binance" and "bitcoin"?`, or nothing. */
export function namesMeant(
  of: Pick<MarketSeries, 'exchange' | 'baseId' | 'quoteId'> | Pick<AssetSeries, 'assetId'>,
  { exchanges, assets }: Omit<KnownNames, 'listsAssets'>,
): string {
  const named: ReadonlyArray<readonly [string, readonly string[]]> =
    'assetId' in of
      ? [[of.assetId, assets]]
      : [
          [of.exchange, [...exchanges, ...exchangesOfProfiles]],
          [of.baseId, assets],
          [of.quoteId, assets],
        ];
  const meant = named.flatMap(([name, known]) => (known.includes(name) ? [] : (nearest(name, known) ?? [])));
  if (meant.length === 0) return '';
  return `: did you mean ${meant.map((name) => JSON.stringify(name)).join(' and ')}?`;
}
