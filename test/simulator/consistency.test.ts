import { describe, expect, test } from 'vitest';
import { candleIntervals } from '../../model/datasets/candles.ts';
import { dayMs, hourMs, minuteMs, periodStart } from '../../model/intervals.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import type { Candle } from '../../v2/resources.ts';
import { candleSeries, exact, merged } from './exact.ts';

const nowMs = Date.UTC(2024, 4, 16, 10, 7, 31, 250);
const { truth } = createSimulator({ seed: 'consistency', clock: { now: () => nowMs } });

// Liquid, and thin with outages.
const markets = ['binance bitcoin/tether', 'bitso xrp/mexican-peso'];

describe.each(markets)('%s', (market) => {
  const week = { startMs: Date.UTC(2024, 4, 6), endMs: Date.UTC(2024, 4, 13) };
  const running = { startMs: Date.UTC(2024, 4, 13), endMs: Date.UTC(2024, 4, 20) };

  test.each(candleIntervals)('aggregates %s candles exactly from their minutes', (interval) => {
    for (const range of [week, running]) {
      const minutes = truth.candles(candleSeries(market, 'm1'), range);
      const byPeriod = new Map<number, Candle[]>();
      for (const row of minutes) {
        const period = periodStart(row.period, interval);
        byPeriod.set(period, [...(byPeriod.get(period) ?? []), row]);
      }
      const rows = truth.candles(candleSeries(market, interval), range);
      expect(rows.map((row) => row.period)).toEqual([...byPeriod.keys()]);
      for (const row of rows) {
        const { open, high, low, close, volume } = merged(byPeriod.get(row.period) ?? []);
        const values = [row.open, row.high, row.low, row.close, row.volume].map(exact);
        expect(values).toEqual([open, high, low, close, volume]);
      }
    }
  });

  test('returns the same rows for any split of a range', () => {
    const whole = truth.candles(candleSeries(market, 'm5'), week);
    const parts = [0, 1, 2, 3, 4, 5, 6].flatMap((part) => {
      // Cuts off the grid: a row belongs to the part in which it starts.
      const startMs = week.startMs + part * dayMs + (part === 0 ? 0 : 61_234);
      const endMs = week.startMs + (part + 1) * dayMs + (part === 6 ? 0 : 61_234);
      return truth.candles(candleSeries(market, 'm5'), { startMs, endMs });
    });
    expect(parts).toEqual(whole);
  });
});

test('only extends the range and volume of the open candle', () => {
  const startMs = Date.UTC(2024, 4, 15, 9);
  const range = { startMs, endMs: startMs + hourMs };
  const series = candleSeries('binance bitcoin/tether', 'h1');
  expect(truth.candles(series, range, startMs)).toEqual([]);
  const states = [1, 20_000, 59_999, 10 * minuteMs + 30_000, 59 * minuteMs + 59_999, hourMs, 2 * hourMs];
  const rows = states.map((elapsedMs) => {
    const [row, ...others] = truth.candles(series, range, startMs + elapsedMs);
    expect(others).toEqual([]);
    return row === undefined ? expect.fail('no candle') : row;
  });
  for (let at = 1; at < rows.length; at++) {
    const [before, after] = [rows[at - 1], rows[at]];
    if (before === undefined || after === undefined) continue;
    expect(after.open).toBe(before.open);
    expect(exact(after.high) >= exact(before.high) && exact(after.low) <= exact(before.low)).toBe(true);
    expect(exact(after.volume) >= exact(before.volume)).toBe(true);
  }
  expect(rows[5]).not.toEqual(rows[4]);
  expect(rows[6]).toEqual(rows[5]);
});

describe('history', () => {
  const asset = (assetId: string, interval: 'm1' | 'm30' | 'h1' | 'h6' | 'd1') =>
    ({ dataset: 'asset_history', assetId, interval }) as const;

  test.each(['bitcoin', 'galleon'])('gives the mean of the day as the d1 point of %s', (assetId) => {
    const startMs = Date.UTC(2024, 1, 1);
    const days = truth.history(asset(assetId, 'd1'), { startMs, endMs: startMs + 40 * dayMs });
    expect(days.length).toBeGreaterThan(35);
    for (const day of days) {
      const points = truth.history(asset(assetId, 'm1'), { startMs: day.time, endMs: day.time + dayMs });
      const sum = points.map((point) => exact(point.priceUsd)).reduce((a, b) => a + b);
      const count = BigInt(points.length);
      expect(exact(day.priceUsd)).toBe((2n * sum + count) / (2n * count));
    }
  });

  test('takes coarser points from the minutes at their times', () => {
    const range = { startMs: Date.UTC(2024, 4, 10), endMs: Date.UTC(2024, 4, 12) };
    const minutes = new Map(truth.history(asset('bitcoin', 'm1'), range).map((point) => [point.time, point.priceUsd]));
    for (const interval of ['m30', 'h1', 'h6'] as const) {
      const points = truth.history(asset('bitcoin', interval), range);
      expect(points.length).toBeGreaterThan(4);
      for (const point of points) expect(minutes.get(point.time)).toBe(point.priceUsd);
    }
  });
});
