/** What identifies a series, in the interface's own terms. */

import type { CandleInterval, HistoryInterval } from './intervals.ts';

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

/** A line of points that has history at the source. */
export type SeriesKey = CandleSeries | HistorySeries;

/** What is kept as points, a table each. */
export type StoredDataset = SeriesKey['dataset'] | 'rates';

/** `binance bitcoin/tether m1` or `bitcoin d1`: the name people read in a table or a log line. */
export function seriesName(series: SeriesKey): string {
  return series.dataset === 'candles'
    ? `${series.exchange} ${series.baseId}/${series.quoteId} ${series.interval}`
    : `${series.assetId} ${series.interval}`;
}
