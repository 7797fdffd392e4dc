/**
 * Figures of a few prices, computed by hand from their definitions: a price of zero, and an hour that is not covered.
 */

import { beforeAll, expect, it } from 'vitest';
import { dayMs, hourMs, intervalMs } from '../../../model/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { useStore } from '../../store/open-store.ts';
import { market, put } from './candles.ts';
import { rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const prices = ['100', '110', '0', '125', null, '80', '160', '40', '50'];
/** The same prices in other units: 1e-30 and 1e40. */
const inUnits = {
  usual: prices,
  small: prices.map((price) => price && `0.${price.padStart(30, '0')}`),
  large: prices.map((price) => price && price + (price === '0' ? '' : '0'.repeat(40))),
};
const units = { usual: '1', small: '1e-30', large: '1e40' };

const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  const endMs = startMs + prices.length * hourMs;
  const covered = [
    [0, 4],
    [5, 9],
  ] as const;
  for (const [base, line] of Object.entries(inUnits))
    await storeLine(store.database, { key: market(base, 'h1'), startMs, endMs, prices: line, covered });
});

const shown = (columns: readonly string[], call: string) =>
  rows(`select ${columns.map((column) => `trim_scale(round(${column}, 9))`)} from ${call}`);

it.each(['usual', 'small', 'large'] as const)('of %s prices are as defined', async (base) => {
  const of = (columns: string, name: string, more = '') => {
    const perUnit = columns
      .split(' ')
      .map((column) => column.replace(/^\//, '').concat(column.startsWith('/') ? ` / ${units[base]}` : ''));
    return shown(perUnit, `${name}('x ${base}/tether', 'h1'${more})`);
  };
  expect(await of('simple_return log_return', 'returns')).toEqual([
    ...['- | -', '0.1 | 0.09531018', '-1 | -', '- | -', '- | -', '- | -'],
    ...['1 | 0.693147181', '-0.75 | -1.386294361', '0.25 | 0.223143551'],
  ]);
  expect((await of('volatility', 'volatility', ', periods => 3')).filter((row) => row !== '-')).toEqual([
    '102.066133261',
  ]);
  expect(await of('drawdown maximum_drawdown', 'drawdown')).toEqual([
    ...['0 | 0', '0 | 0', '-1 | -1', '0 | -1', '- | -1', '-0.36 | -1', '0 | -1', '-0.75 | -1', '-0.6875 | -1'],
  ]);
  expect(await of('/sma', 'sma', ', periods => 2')).toEqual(['-', '105', '55', '62.5', '-', '-', '120', '100', '45']);
  const bands = await of('/lower_band /upper_band bandwidth percent_b', 'bollinger', ', periods => 2');
  expect(bands.slice(0, 3)).toEqual(['- | - | - | -', '95 | 115 | 0.19047619 | 0.75', '-55 | 165 | 4 | 0.25']);
  expect(await of('/ema', 'ema', ', periods => 3')).toEqual([
    '-',
    '-',
    '70',
    '97.5',
    '-',
    '-',
    '-',
    '93.333333333',
    '71.666666667',
  ]);
  expect(await of('rsi', 'rsi', ', periods => 3')).toEqual([
    '-',
    '-',
    '-',
    '55.102040816',
    '-',
    '-',
    '-',
    '-',
    '42.857142857',
  ]);
});

it('the deepest fall has the time of its peak, of its trough and of its recovery', async () => {
  const times = ['peak', 'trough', 'recovered'].map((name) => `to_char(${name}_time, 'HH24')`);
  const deepest = (more: string) =>
    rows(`select ${times}, trim_scale(drawdown) from maximum_drawdown('x usual/tether', 'h1'${more})`);
  expect(await deepest('')).toEqual(['01 | 02 | 03 | -1']);
  expect(await deepest(`, '2024-01-01 05:00Z'`)).toEqual(['06 | 07 | - | -0.75']);
});

it.each([
  ['prices that only rise', `'2024-01-01 00:00Z', '2024-01-01 02:00Z'`, '0 | 1'],
  ['one price', `'2024-01-01 00:00Z', '2024-01-01 01:00Z'`, '0 | 1'],
  ['a gap', `'2024-01-01 04:00Z', '2024-01-01 05:00Z'`, '- | 0'],
  ['the future', `'2999-01-01Z', '2999-01-02Z'`, '- | -'],
])('the deepest fall in %s has no times, and its coverage', async (_, range, expected) => {
  const none = 'num_nonnulls(peak_time, peak_price, trough_time, trough_price, recovered_time)';
  expect(
    await rows(
      `select ${none}, trim_scale(drawdown), coverage from maximum_drawdown('x usual/tether', 'h1', ${range})`,
    ),
  ).toEqual([`0 | ${expected}`]);
});

it('prices weighed by volume, by period and since the beginning of the session', async () => {
  const endMs = startMs + 26 * hourMs;
  const { seriesId } = await trackSeries(store.database, market('weighed', 'h1'), startMs, endMs);
  // Their mean of high, low and close is 11, 4, 7 and 2.
  const candles = [
    [0, '12', '9', '12', '2'],
    [1, '6', '3', '3', '5'],
    [2, '9', '6', '6', '0'],
    [24, '3', '1', '2', '4'],
  ] as const;
  await put(
    store.database,
    seriesId,
    candles.map(([hour, high, low, close, volume]) => ({
      ...{ timeMs: startMs + hour * hourMs, open: low, high, low, close, volume },
    })),
  );
  await store.database.pool.query('update tidemark.series set covered = tstzmultirange(tracked) where id = $1', [
    seriesId,
  ]);
  const weighed = (interval: string) =>
    shown(['vwap', 'session_vwap', 'candles'], `vwap('x', 'weighed', 'tether', '${interval}')`);
  expect(await weighed('h1')).toEqual(['11 | 11 | 1', '4 | 6 | 1', '- | 6 | 1', '2 | 2 | 1']);
  expect(await weighed('h2')).toEqual(['6 | 6 | 2', '- | 6 | 1', '2 | 2 | 1']);
});

it('a return counts in the hour at whose end the price of an asset is known', async () => {
  const length = 2 * dayMs + hourMs;
  const line = Array.from({ length: length / hourMs }, (_, hour) => (hour < 1 ? '100' : hour < 25 ? '110' : '132'));
  const key = { dataset: 'asset_history', assetId: 'season', interval: 'h1' } as const;
  await storeLine(store.database, { key, startMs, endMs: startMs + length, prices: line });
  const seasons = `seasonality_by_hour('season', 'h1')`;
  expect((await shown(['hour', 'observations', 'mean_return', 'deviation', 'share_up'], seasons)).slice(0, 2)).toEqual([
    '0 | 2 | 0.15 | 0.070710678 | 1',
    '1 | 2 | 0 | 0 | 0',
  ]);
});

it('prices at longer intervals are those of their first hour', async () => {
  const key = { dataset: 'asset_history', assetId: 'longer', interval: 'h1' } as const;
  const endMs = startMs + 8 * intervalMs.h1;
  const line = ['1.10', '2', null, '4', '5', null, null, '8'];
  const covered = [
    [0, 5],
    [7, 8],
  ] as const;
  await storeLine(store.database, { key, startMs, endMs, prices: line, covered });
  expect(await rows(`select to_char(time, 'HH24'), price_usd, coverage from price_history('longer', 'h2')`)).toEqual([
    '00 | 1.10 | 1',
    '04 | 5 | 1',
    '06 | - | 0',
  ]);
});
