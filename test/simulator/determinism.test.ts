import { expect, test } from 'vitest';
import { dayMs } from '../../model/intervals.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import { candleSeries } from './exact.ts';

const nowMs = Date.UTC(2025, 0, 10, 12);
const series = candleSeries('binance bitcoin/tether', 'm1');
const day = { startMs: Date.UTC(2020, 2, 12), endMs: Date.UTC(2020, 2, 13) };

test('depends on the seed and the time, not on earlier requests', () => {
  const first = createSimulator({ seed: 7, clock: { now: () => nowMs } });
  const second = createSimulator({ seed: '7', clock: { now: () => nowMs } });
  for (let back = 1; back < 50; back++) {
    const startMs = nowMs - back * 37 * dayMs;
    second.truth.candles(candleSeries('binance ethereum/bitcoin', 'h1'), { startMs, endMs: startMs + 3 * dayMs });
  }
  expect(second.truth.candles(series, day)).toEqual(first.truth.candles(series, day));
  expect(second.truth.rates()).toEqual(first.truth.rates());
});

test('gives the same digits on every machine and Node version', () => {
  const { truth } = createSimulator({ seed: 'golden', clock: { now: () => nowMs } });
  const minute = { startMs: Date.UTC(2021, 0, 1, 12), endMs: Date.UTC(2021, 0, 1, 12, 1) };
  expect(truth.candles(candleSeries('binance bitcoin/tether', 'm1'), minute)).toMatchInlineSnapshot(`
    [
      {
        "close": "4751.0309869347981243",
        "high": "4757.0277532270316129",
        "low": "4750.3581096984547829",
        "open": "4754.8217764702558344",
        "period": 1609502400000,
        "volume": "21.3485839785937620",
      },
    ]
  `);
  const week = { startMs: Date.UTC(2020, 11, 28), endMs: Date.UTC(2021, 0, 4) };
  expect(truth.candles(candleSeries('binance golem-(glm)/bitcoin', 'w1'), week)).toMatchInlineSnapshot(`
    [
      {
        "close": "0.0000328167031648",
        "high": "0.0000367887898083",
        "low": "0.0000322361309074",
        "open": "0.0000348169147618",
        "period": 1609113600000,
        "volume": "12468566.9510245902327800",
      },
    ]
  `);
  const history = { dataset: 'asset_history', assetId: 'dogecoin', interval: 'd1' } as const;
  expect(truth.history(history, { startMs: Date.UTC(2015, 5, 1), endMs: Date.UTC(2015, 5, 2) })).toMatchInlineSnapshot(`
    [
      {
        "priceUsd": "0.0003498582973573",
        "time": 1433116800000,
      },
    ]
  `);
});
