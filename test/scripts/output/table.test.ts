import { expect, it } from 'vitest';
import { type Column, table, wrapped } from '../../../scripts/output/table.ts';

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
  expect(narrow[1]).toBe(' 1  binance aaaa…a/tether m1  a note of s…');
});

it('omits an empty column, and then others in their order, where the terminal is too narrow', () => {
  const more: readonly Column<Row>[] = [
    ...columns.map((column) => (column.title === 'id' ? { ...column, omit: 2 } : column)),
    { title: 'newest', value: () => '2024-03-04 23:59Z', omit: 1 },
    { title: 'empty', value: () => '' },
  ];
  const titles = (width: number) => table(more, rows, width).split('\n')[0]?.split(/ +/).filter(Boolean);
  expect(titles(100)).toEqual(['id', 'name', 'note', 'newest', 'empty']);
  expect(titles(62)).toEqual(['id', 'name', 'note', 'newest']);
  expect(titles(50)).toEqual(['id', 'name', 'note']);
  expect(titles(38)).toEqual(['name', 'note']);
});

it('wraps lines between words and indents what follows', () => {
  expect(wrapped('  one two three four\nfive', 12)).toBe('  one two\n    three\n    four\nfive');
  expect(wrapped('select a,\n       b', 12)).toBe('select a,\n       b');
  expect(wrapped('averyveryverylongword it is', 12)).toBe('averyveryverylongword\n  it is');
  expect(wrapped('as it is, however long', null)).toBe('as it is, however long');
});
