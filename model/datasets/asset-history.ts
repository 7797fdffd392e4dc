import type { Dataset } from '../dataset.ts';

/** Source: interface specification, section 4. */
export const historyIntervals = ['m1', 'm5', 'm15', 'm30', 'h1', 'h2', 'h6', 'h12', 'd1'] as const;
export type HistoryInterval = (typeof historyIntervals)[number];

/** Prices in US dollars. */
export const assetHistory = {
  name: 'asset_history',
  word: 'history',
  about: 'price history of an asset',
  of: 'asset',
  table: 'asset_history_points',
  intervals: historyIntervals,
  columns: [{ name: 'price_usd', json: 'priceUsd' }],
  impossible: [],
  isOnGrid: false,
  timeField: 'time',
  shown: 'price_usd',
  chart: 'line',
  hasRollups: false,
  // A day has the mean over all of it.
  time: { density: 'some', hasOpen: (interval) => interval !== 'd1' },
  chunkDays: 90,
} as const satisfies Dataset;
