import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bar } from '../../../scripts/terminal/bar.ts';
import { asFits, cut, fitted, printable, textOf, widthOf } from '../../../scripts/terminal/lines.ts';
import { nowAndThen } from '../../../scripts/terminal/now-and-then.ts';

const words = fc.string({ unit: 'binary' });
const width = fc.integer({ min: 1, max: 60 });

it('cuts a line to a width, whatever letters it has', () => {
  fc.assert(
    fc.property(fc.array(words), width, (texts, columns) => {
      const line = texts.map((text) => ({ text: printable(text) }));
      const shown = cut(line, columns, '…');
      expect(widthOf(textOf(shown))).toBeLessThanOrEqual(columns);
      if (widthOf(textOf(line)) <= columns) expect(textOf(shown)).toBe(textOf(line));
    }),
  );
  expect(textOf(cut([{ text: 'abc' }, { text: 'defg' }], 5, '…'))).toBe('abcd…');
});

it('fills a width exactly, and keeps both ends of what is longer', () => {
  fc.assert(
    fc.property(words, width, (text, columns) => {
      expect(widthOf(fitted(printable(text), columns, '…'))).toBe(columns);
    }),
  );
  expect(fitted('binance bitcoin/tether m1', 13, '…')).toBe('binanc…her m1');
  expect(fitted('h1', 4, '…')).toBe('h1  ');
});

it('counts two columns for what is written in two', () => {
  expect(['abc', '…█░', '比特币', '🚀', 'e\u0301'].map(widthOf)).toEqual([3, 3, 6, 2, 1]);
});

it('lets foreign words neither move the cursor nor break the line', () => {
  expect(printable('\u001b[2J\u001b[31mgone\r\n\u001b]0;title\u0007 now\u202e!\u0000')).toBe('gone now !');
});

it('shows as many parts as there is room for, the first ones first', () => {
  const parts = ['one', 'two', 'three'].map((text) => [{ text }]);
  expect([40, 10, 7, 2].map((columns) => textOf(asFits(parts, columns)))).toEqual([
    'one, two, three',
    'one, two',
    'one',
    'one',
  ]);
});

it('draws a bar that is full only when nothing is left', () => {
  const glyphs = { full: '#', empty: '-', more: '~' };
  const drawn = (part: number, whole: number) => textOf(bar(part, whole, 10, glyphs));
  expect(drawn(0, 5)).toBe('----------');
  expect(drawn(99_999, 100_000)).toBe('#########-');
  expect(drawn(5, 5)).toBe('##########');
  expect(drawn(0, 0)).toBe('##########');
});

it('prints a line that is new when its time has come, the last one at once, and later less often', () => {
  const printed: string[] = [];
  let nowMs = 0;
  const print = nowAndThen(
    (line) => printed.push(line),
    0,
    () => nowMs,
  );
  for (nowMs = 0; nowMs < 180_000; nowMs += 1000) print(`at ${nowMs / 1000}`, false);
  expect(printed.map((line) => Number(line.slice(3)))).toEqual([
    0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 90, 120, 150,
  ]);
  print('the last', true);
  print('the last', true);
  expect(printed.slice(-2)).toEqual(['at 150', 'the last']);
});
