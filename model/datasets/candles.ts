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
  table: 'candle_points',
  intervals: candleIntervals,
  columns: [
    { name: 'open', json: 'open' },
    { name: 'high', json: 'high' },
    { name: 'low', json: 'low' },
    { name: 'close', json: 'close' },
    { name: 'volume', json: 'volume', least: '0' },
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
  hasRollups: true,
  time: { density: 'some', hasOpen: () => true },
  chunkDays: 30,
} as const satisfies Dataset;
