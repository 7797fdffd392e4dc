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
  kinds: [],
  isNamedByKey: true,
  table: 'asset_history_points',
  intervals: historyIntervals,
  columns: [{ name: 'price_usd', json: 'priceUsd', about: 'Price, USD.' }],
  impossible: [],
  areZerosUnknown: false,
  isOnGrid: false,
  timeField: 'time',
  shown: 'price_usd',
  chart: 'line',
  longer: 'sampled',
  published: {
    all: {
      name: 'asset_history',
      about:
        'Prices of assets in USD at every interval, stored or derived from finer ones (derived_from): those of ' +
        'minutes and hours at their time; for d1 the mean over the UTC day.',
      example:
        "select * from asset_history where asset = 'bitcoin' and interval = 'd1' and time >= '2024-03-01' and " +
        "time < '2024-03-08' order by time",
    },
    latest: {
      name: 'latest_prices',
      about: 'The newest stored price of each asset and interval, USD.',
      example: 'select * from latest_prices order by time desc limit 10',
    },
    knownAt: {
      name: 'history_as_known_at',
      about: 'Price history of an asset with the values that were known at a time; see candles_as_known_at.',
      example: "select * from history_as_known_at('bitcoin', 'd1', '2024-06-02', '2024-05-01')",
    },
  },
  // A day has the mean over all of it.
  time: { density: 'some', hasOpen: (interval) => interval !== 'd1' },
  chunkDays: 90,
  typicalBytes: { columnstore: 17, row: 133 },
} as const satisfies Dataset;
