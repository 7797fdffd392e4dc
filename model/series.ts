/** The identity of a series in the interface's terms. */

import type { CandleInterval, EpochMs, HistoryInterval, Range } from './intervals.ts';

export interface CandleSeries {
  readonly dataset: 'candles';
  readonly exchange: string;
  readonly baseId: string;
  readonly quoteId: string;
  readonly interval: CandleInterval;
}

export interface HistorySeries {
  readonly dataset: 'asset_history';
  readonly assetId: string;
  readonly interval: HistoryInterval;
}

/** A series of points with history at the source. */
export type SeriesKey = CandleSeries | HistorySeries;

/** Datasets that are stored as points, each in its own table. */
export type StoredDataset = SeriesKey['dataset'] | 'rates';

/** A half-open range of a series, by the rows' own times. */
export interface TimeRange extends Range {
  /** Earlier rows are hidden and count as not covered. Absent: all rows are visible. */
  readonly visibleFromMs?: EpochMs;
}

/** The display name: `binance bitcoin/tether m1` or `bitcoin d1`. */
export function seriesName(series: SeriesKey): string {
  return series.dataset === 'candles'
    ? `${series.exchange} ${series.baseId}/${series.quoteId} ${series.interval}`
    : `${series.assetId} ${series.interval}`;
}
