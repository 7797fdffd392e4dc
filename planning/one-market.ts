/** One market is one series: which series a symbol of a source belongs to. */

import { type SeriesKey, seriesName } from '../contract/series.ts';

/** A series of candles that a source gives, and the symbol of its market there. */
export interface SymbolUse {
  readonly series: SeriesKey;
  readonly source: string;
  readonly symbol: string;
  readonly isTracked: boolean;
  /** Whether the source lists the symbol still. */
  readonly isListed: boolean;
}

interface Given {
  readonly source: string;
  readonly symbol: string;
}

/** The series as it is tracked: under the name that it had when its aliases were others, if it has one. */
export function trackedAs(uses: readonly SymbolUse[], key: SeriesKey, { source, symbol }: Given): SeriesKey {
  if (key.dataset !== 'candles') return key;
  const same = uses.flatMap((use) =>
    use.isTracked &&
    use.source === source &&
    use.symbol === symbol &&
    use.series.dataset === 'candles' &&
    use.series.exchange === key.exchange &&
    use.series.interval === key.interval
      ? [use.series]
      : [],
  );
  const name = seriesName(key);
  return same.find((series) => seriesName(series) === name) ?? same[0] ?? key;
}

/** Another market of the source that the series has points of, which two codes for one id would mix with it. */
export function otherMarketOf(
  uses: readonly SymbolUse[],
  key: SeriesKey,
  { source, symbol }: Given,
): SymbolUse | undefined {
  const name = seriesName(key);
  return uses.find(
    (use) =>
      use.isListed && use.source === source && use.symbol !== symbol && seriesName(use.series) === name,
  );
}
