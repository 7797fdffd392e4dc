import { expect, it } from 'vitest';
import { datasets } from '../../model/datasets/index.ts';
import { wrongInterval } from '../../model/time-text.ts';

it.each([
  ['1m', 'm1'],
  ['60min', 'h1'],
  ['24H', 'd1'],
  ['7d', 'w1'],
  ['H1', 'h1'],
])('suggests the interval that %s means', (text, meant) => {
  expect(wrongInterval(text, datasets.candles)).toBe(`"${text}" is no interval of candles; did you mean ${meant}?`);
});

it.each(['1M', 'm7', '7m', '', 'x'.repeat(100)])('lists the intervals where %j means none', (text) => {
  expect(wrongInterval(text, datasets.candles)).toMatch(/^".{0,63}" is no interval of candles, only m1, m5, .*w1$/);
});
