/** One market is one series: which series a symbol of a source belongs to. */

import { parseQuote } from '../model/market.ts';
import { isOfMarket, type SeriesKey, seriesName } from '../model/series.ts';

interface MarketOfSource {
  readonly source: string;
  /** The market as the source names it. */
  readonly symbol: string;
}

/** A series of candles that a source gives. */
export interface SymbolUse extends MarketOfSource {
  readonly series: SeriesKey;
  readonly isTracked: boolean;
  /** Whether the source lists the symbol still. */
  readonly isListed: boolean;
}

/** The series as it is tracked: under the name that it had when its aliases were others, if it has one. */
export function trackedAs(uses: readonly SymbolUse[], key: SeriesKey, { source, symbol }: MarketOfSource): SeriesKey {
  if (!isOfMarket(key)) return key;
  const same = uses.flatMap((use) =>
    use.isTracked &&
    use.source === source &&
    use.symbol === symbol &&
    isOfMarket(use.series) &&
    use.series.dataset === key.dataset &&
    use.series.exchange === key.exchange &&
    use.series.interval === key.interval
      ? [use.series]
      : [],
  );
  const name = seriesName(key);
  return same.find((series) => seriesName(series) === name) ?? same[0] ?? key;
}

/**
 * Another market of the source, of which the series is already: aliases that give two markets one name would mix them.
 */
export function otherMarketOf(
  uses: readonly SymbolUse[],
  key: SeriesKey,
  { source, symbol }: MarketOfSource,
): SymbolUse | undefined {
  const name = seriesName(key);
  return uses.find(
    (use) => use.isListed && use.source === source && use.symbol !== symbol && seriesName(use.series) === name,
  );
}

/** Why a series cannot have both markets of a source. */
export function otherMarketText(
  key: SeriesKey,
  other: Pick<MarketOfSource, 'symbol'>,
  { source, symbol }: MarketOfSource,
): string {
  return `${seriesName(key)} is ${other.symbol} of ${source}, and ${symbol} is another market`;
}

/** A market in the codes of a list, or in the user's names. */
export interface Names {
  readonly base: string;
  readonly quote: string;
}

/**
 * Whether names of a perpetual or future say another settlement than the list of its source: its assets may have any
 * names, but none that are of another asset there, and the same asset has one name.
 *
 * @param market in the codes of the list. @param ids what stands for them. @param codes of all markets of the list.
 */
export function isMisnamed(market: Names, ids: Names, given: Names, codes: ReadonlySet<string>): boolean {
  const [own, known, named] = [assetsOf(market), assetsOf(ids), assetsOf(given)];
  if (parseQuote(market.quote).expiry !== parseQuote(given.quote).expiry) return true;
  const isOwn = (asset: Asset) => named[asset] === own[asset] || named[asset] === known[asset];
  const isOther = (asset: Asset) => !isOwn(asset) && codes.has(named[asset]);
  const differs = (asset: Asset) =>
    (own.settle === own[asset]) !== (named.settle === named[asset]) && !(isOwn('settle') && isOwn(asset));
  return isOther('base') || isOther('asset') || isOther('settle') || differs('base') || differs('asset');
}

type Asset = 'base' | 'asset' | 'settle';

export function assetsOf({ base, quote }: Names): Readonly<Record<Asset, string>> {
  const { asset, settle } = parseQuote(quote);
  return { base, asset, settle: settle ?? '' };
}
