import type { Dataset } from '../dataset.ts';
import { historyIntervals } from '../intervals.ts';

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
