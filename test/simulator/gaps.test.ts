import { expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../contract/intervals.ts';
import type { Candle } from '../../contract/resources.ts';
import { bornIn2019Ms } from '../../simulator/catalogue.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { candleSeries } from './exact.ts';

const nowMs = Date.UTC(2024, 4, 16, 10, 7);
const { truth } = createSimulator({ seed: 'gaps', clock: { now: () => nowMs } });

/** Lengths of the runs of absent minutes between rows. */
function holes(rows: readonly Candle[]): number[] {
  return rows
    .slice(1)
    .map((row, index) => (row.period - (rows[index]?.period ?? 0)) / minuteMs - 1)
    .filter((length) => length > 0);
}

test('gives outages of 13 to 20 minutes in most markets', () => {
  const startMs = Date.UTC(2024, 3, 1);
  const range = { startMs, endMs: startMs + 20 * dayMs };
  const liquid = [
    'binance bitcoin/tether',
    'binance ethereum/tether',
    'coinbase bitcoin/united-states-dollar',
  ];
  const starts = liquid.map((market) => {
    const rows = truth.candles(candleSeries(market, 'm1'), range);
    const lengths = holes(rows);
    expect(lengths.length).toBeGreaterThan(3);
    expect(lengths.every((length) => length >= 13 && length <= 40)).toBe(true);
    const absent = new Set(rows.map((row) => row.period));
    return rows.map((row) => row.period + minuteMs).filter((time) => !absent.has(time));
  });
  const [first = [], second = [], third = []] = starts;
  const common = first.filter((time) => second.includes(time) && third.includes(time));
  expect(common.length).toBeGreaterThan(0);
  expect(common.length).toBeLessThan(first.length + second.length + third.length);
});

test('omits minutes of a thin market throughout', () => {
  const rows = truth.candles(candleSeries('bitso xrp/mexican-peso', 'm1'), {
    startMs: nowMs - dayMs,
    endMs: nowMs,
  });
  expect(rows.length).toBeGreaterThan(400);
  expect(rows.length).toBeLessThan(700);
  expect(holes(rows).length).toBeGreaterThan(200);
});

test('begins a market in 2019 at the same minute in every interval', () => {
  const range = { startMs: nowMs - 4017 * dayMs, endMs: nowMs };
  const first = (interval: 'm1' | 'd1' | 'w1') =>
    truth.candles(candleSeries('binance dogecoin/tether', interval), {
      ...range,
      endMs: interval === 'm1' ? bornIn2019Ms + dayMs : nowMs,
      startMs: interval === 'm1' ? bornIn2019Ms - dayMs : range.startMs,
    })[0];
  expect(first('m1')?.period).toBe(bornIn2019Ms);
  expect(first('d1')?.period).toBe(bornIn2019Ms);
  // 1 June 2019 is a Saturday.
  expect(first('w1')?.period).toBe(Date.UTC(2019, 4, 27));
});

test('gives an empty suspended week', () => {
  const week = { startMs: Date.UTC(2021, 2, 1), endMs: Date.UTC(2021, 2, 8) };
  for (const interval of ['m1', 'h1', 'd1', 'w1'] as const) {
    expect(truth.candles(candleSeries('kraken litecoin/euro', interval), week)).toEqual([]);
  }
  const after = { startMs: week.endMs, endMs: week.endMs + dayMs };
  expect(truth.candles(candleSeries('kraken litecoin/euro', 'd1'), after)).toHaveLength(1);
});

test('omits only a few days of eleven years of daily history', () => {
  const points = truth.history(
    { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' },
    { startMs: nowMs - 4018 * dayMs, endMs: nowMs },
  );
  expect(points.length).toBeGreaterThan(3980);
  expect(points.length).toBeLessThan(4017);
});

test('returns nothing before the origin or after now', () => {
  const series = candleSeries('binance bitcoin/tether', 'd1');
  expect(truth.candles(series, { startMs: 0, endMs: Date.UTC(2009, 11, 31) })).toEqual([]);
  expect(truth.candles(series, { startMs: nowMs + dayMs, endMs: nowMs + 2 * dayMs })).toEqual([]);
  expect(() => truth.candles(candleSeries('binance bitcoin/dust', 'd1'), { startMs: 0, endMs: 1 })).toThrow(
    RangeError,
  );
});
