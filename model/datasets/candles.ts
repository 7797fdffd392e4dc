import type { Dataset } from '../dataset.ts';

/** Source: interface specification, section 4. */
export const candleIntervals = ['m1', 'm5', 'm15', 'm30', 'h1', 'h2', 'h4', 'h8', 'h12', 'd1', 'w1'] as const;
export type CandleInterval = (typeof candleIntervals)[number];

/** Prices in the quote, and the traded amount of the base. */
export const candles = {
  name: 'candles',
  word: 'candles',
  about: 'candles of a market',
  of: 'market',
  isNamedByKey: true,
  table: 'candle_points',
  intervals: candleIntervals,
  columns: [
    { name: 'open', json: 'open', rollup: 'first', about: 'Price at the start of the period, in the quote.' },
    { name: 'high', json: 'high', rollup: 'max', about: 'Highest price in the period, in the quote.' },
    { name: 'low', json: 'low', rollup: 'min', about: 'Lowest price in the period, in the quote.' },
    { name: 'close', json: 'close', rollup: 'last', about: 'Price at the end of the period, in the quote.' },
    {
      name: 'volume',
      json: 'volume',
      rollup: 'sum',
      least: '0',
      about: 'Amount of the base asset traded in the period.',
    },
  ],
  impossible: [
    ['high', 'below', 'low'],
    ['open', 'below', 'low'],
    ['open', 'above', 'high'],
    ['close', 'below', 'low'],
    ['close', 'above', 'high'],
  ],
  isOnGrid: true,
  timeField: 'period',
  shown: 'close',
  chart: 'candles',
  longer: 'rolled up',
  time: { density: 'some', hasOpen: () => true },
  published: {
    all: {
      name: 'candles',
      about:
        'Candles of every market and interval, stored or derived from finer ones (derived_from). Name an interval: ' +
        'without one every level is read.',
      example:
        "select * from candles where exchange = 'binance' and base = 'bitcoin' and quote = 'tether' and " +
        "interval = 'd1' and time >= '2024-03-01' and time < '2024-03-08' order by time",
    },
    latest: {
      name: 'latest_candles',
      about: 'The newest stored candle of each series, which may be open.',
      example: 'select * from latest_candles order by time desc limit 10',
    },
    knownAt: {
      name: 'candles_as_known_at',
      about:
        'Candles whose periods had ended at known_at, with the values of then. changed_at is when the next change ' +
        'of the row was seen (null: it is still the same).',
      example: "select * from candles_as_known_at('binance', 'bitcoin', 'tether', 'h1', '2024-06-02', '2024-06-01')",
    },
  },
  chunkDays: 30,
  typicalBytes: { columnstore: 21, row: 137 },
} as const satisfies Dataset;
