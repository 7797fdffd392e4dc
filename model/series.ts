/** The identity of a series in the interface's terms. */

import { byDataset, type DatasetName, type Datasets, datasetOf, datasets, datasetText } from './datasets/index.ts';
import type { EpochMs, Interval, Range } from './intervals.ts';
import { expiryMs, type MarketKind, marketKind, quoteProblem } from './market.ts';
import { offerOf, type SourceFacts } from './sources.ts';

interface OfMarket {
  readonly exchange: string;
  readonly baseId: string;
  /** With what it is settled in, if it is no spot market: model/market.ts. */
  readonly quoteId: string;
}

interface OfAsset {
  readonly assetId: string;
}

type SeriesOf<Name extends DatasetName> = {
  readonly dataset: Name;
  readonly interval: Datasets[Name]['intervals'][number];
} & (Datasets[Name]['of'] extends 'market' ? OfMarket : OfAsset);

/** A series of points with history at the source. */
export type SeriesKey = { [Name in DatasetName]: SeriesOf<Name> }[DatasetName];
export type MarketSeries = Extract<SeriesKey, OfMarket>;
export type AssetSeries = Extract<SeriesKey, OfAsset>;
export type CandleSeries = SeriesOf<'candles'>;
export type HistorySeries = SeriesOf<'asset_history'>;

/** A half-open range of a series, by the rows' own times. */
export interface TimeRange extends Range {
  /** Earlier rows are hidden and count as not covered. Absent: all rows are visible. */
  readonly visibleFromMs?: EpochMs;
}

export function isOfMarket(series: SeriesKey): series is MarketSeries {
  return 'exchange' in series;
}

/** Why there can be no such series; null: there can. */
export function seriesProblem(series: SeriesKey): string | null {
  return isOfMarket(series) ? marketProblem(series.dataset, series.quoteId) : null;
}

/** The same of the markets of a quote. */
export function marketProblem(dataset: DatasetName, quote: string): string | null {
  const problem = quoteProblem(quote);
  if (problem !== null) return problem;
  const kind = marketKind(quote);
  return datasetOf(dataset).kinds.includes(kind) ? null : `a ${kind} market has no ${datasetText(dataset)}`;
}

/** The kinds of markets of which a source gives a dataset. */
export function kindsGiven(
  { kinds, offers }: Pick<SourceFacts, 'kinds' | 'offers'>,
  dataset: DatasetName,
): readonly MarketKind[] {
  const offer = offerOf(offers, dataset);
  const given = offer === undefined ? [] : (offer.kinds ?? kinds);
  return given.filter((kind) => datasetOf(dataset).kinds.includes(kind));
}

/** The end of a range of a series; null: open-ended. A future ends when it is delivered. */
export function untilExpiry(series: SeriesKey, endMs: EpochMs | null): EpochMs | null {
  const lastMs = isOfMarket(series) ? expiryMs(series.quoteId) : null;
  return lastMs === null ? endMs : Math.min(lastMs, endMs ?? lastMs);
}

/** What follows the key in the name of a series. */
export const nameEnds = byDataset(({ isNamedByKey, word }) => (isNamedByKey ? '' : ` ${word}`));

/** The display name: `binance bitcoin/tether m1` or `bitcoin d1`. */
export function seriesName(series: SeriesKey): string {
  const key = isOfMarket(series) ? `${series.exchange} ${series.baseId}/${series.quoteId}` : series.assetId;
  return `${key} ${series.interval}${nameEnds[series.dataset]}`;
}

export type SeriesJson = (MarketSeries & { readonly marketKind: MarketKind }) | AssetSeries;

/** A series in documents. */
export function seriesJson(series: SeriesKey): SeriesJson {
  return isOfMarket(series) ? { ...series, marketKind: marketKind(series.quoteId) } : series;
}

/** Names of the columns that identify a series of each kind, in files and documents. */
export const keyNames = { market: ['exchange', 'base', 'quote', 'interval'], asset: ['asset', 'interval'] } as const;

/** The values of {@link keyNames}. */
export function keyOf(series: SeriesKey): string[] {
  return isOfMarket(series)
    ? [series.exchange, series.baseId, series.quoteId, series.interval]
    : [series.assetId, series.interval];
}

/** @param key the values of {@link keyNames}. @returns null: the dataset has no such interval. */
export function seriesOfKey(dataset: DatasetName, key: readonly string[]): SeriesKey | null {
  const { of, intervals } = datasets[dataset];
  const interval = key.at(-1) as Interval;
  if (!(intervals as readonly Interval[]).includes(interval)) return null;
  const [first = '', baseId = '', quoteId = ''] = key;
  const names = of === 'market' ? { exchange: first, baseId, quoteId } : { assetId: first };
  return { dataset, interval, ...names } as SeriesKey;
}
