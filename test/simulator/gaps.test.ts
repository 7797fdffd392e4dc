import { expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../model/intervals.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import type { Candle } from '../../v2/resources.ts';
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
  const liquid = ['binance bitcoin/tether', 'binance ethereum/tether', 'coinbase bitcoin/united-states-dollar'];
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
  const rows = truth.candles(candleSeries('bitso xrp/mexican-peso', 'm1'), { startMs: nowMs - dayMs, endMs: nowMs });
  expect(rows.length).toBeGreaterThan(400);
  expect(rows.length).toBeLessThan(700);
  expect(holes(rows).length).toBeGreaterThan(200);
});
