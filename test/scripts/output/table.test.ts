import { expect, it } from 'vitest';
import { type Column, table } from '../../../scripts/output/table.ts';

type Row = readonly [id: string, name: string, note: string];
const columns: readonly Column<Row>[] = [
  { title: 'id', value: ([id]) => id, right: true },
  { title: 'name', value: ([, name]) => name, shorten: 'middle' },
  { title: 'note', value: ([, , note]) => note, shorten: 'end' },
];
const rows: readonly Row[] = [
  ['1', `binance ${'a'.repeat(60)}/tether m1`, 'a note of some thirty letters.'],
  ['2', 'binance bitcoin/tether h1', ''],
];

it('is as wide as its longest cells without a width', () => {
  expect(table(columns, rows).split('\n')[1]).toBe(` 1  ${rows[0]?.[1]}  ${rows[0]?.[2]}`);
});

it('fits a width by cutting the longest cells, and keeps the end of series names', () => {
  const lines = table(columns, rows, 70).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBe(70);
  expect(lines[1]).toMatch(/^ 1 {2}binance a+…a+\/tether m1 {2}a note of some thirty letters\.$/);
  expect(lines[2]).toBe(' 2  binance bitcoin/tether h1');
  const narrow = table(columns, rows, 10).split('\n');
  expect(narrow[1]).toBe(' 1  binanc…er m1  a note of s…');
});
