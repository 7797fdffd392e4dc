import type { Dataset } from '../dataset.ts';
import { candleIntervals } from '../intervals.ts';

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
