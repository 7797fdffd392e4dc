import { expect, test } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { defaultSeed } from '../../simulator/hash.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { impossible } from '../../sources/rows.ts';
import { pointOf } from '../parts/points.ts';
import { candleSeries } from './exact.ts';

test('produces possible candles, also without a wick', () => {
  const startMs = Date.UTC(2025, 10, 28);
  const { truth } = createSimulator({ seed: defaultSeed, clock: { now: () => startMs + 10 * dayMs } });
  const series = candleSeries('binance ethereum/tether', 'm1');
  const candles = truth.candles(series, { startMs, endMs: startMs + 4 * dayMs });
  expect(candles.length).toBeGreaterThan(5000);
  // At 2025-11-28T12:42Z and 2025-11-30T22:25Z of the default seed the low came out above the open.
  expect(candles.flatMap((candle) => impossible('candles', 'm1', pointOf('candles', candle)) ?? [])).toEqual([]);
});
