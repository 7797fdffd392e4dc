import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, it } from 'vitest';
import { printable } from '../../../model/names.ts';
import { logProgress } from '../../../scripts/output/progress.ts';
import { bar, fitted, terminalOf } from '../../../scripts/output/terminal.ts';

const words = fc.string({ unit: 'binary' });
const width = fc.integer({ min: 1, max: 60 });

it('fits a text to a width, and keeps both ends of a longer one', () => {
  fc.assert(
    fc.property(words, width, (text, columns) => {
      expect(stringWidth(fitted(printable(text), columns))).toBe(columns);
    }),
  );
  expect(fitted('binance bitcoin/tether m1', 13)).toBe('binanc…her m1');
  expect(fitted('h1', 4)).toBe('h1  ');
});

it('strips control characters from foreign text', () => {
  expect(printable('\u001b[2J\u001b[31mgone\r\n\u001b]0;title\u0007 now\u202e!\u0000')).toBe('gone now !');
});

it('fills a bar only when nothing is left', () => {
  const space = { columns: 80, rows: 24, paint: (_: string, text: string) => text };
  const drawn = (part: number, whole: number) => bar(part, whole, 10, space);
  expect(drawn(0, 5)).toBe('░░░░░░░░░░');
  expect(drawn(99_999, 100_000)).toBe('█████████░');
  expect(drawn(5, 5)).toBe('██████████');
  expect(drawn(0, 0)).toBe('██████████');
});

it('prints a new line after a second and then every ten, and the last line at once', () => {
  const printed: string[] = [];
  let nowMs = 0;
  const print = logProgress({ monotonicMs: () => nowMs }, (line) => printed.push(line));
  print('the last of short work', true);
  for (nowMs = 0; nowMs < 60_000; nowMs += 500) print(`at ${nowMs / 1000}`, false);
  expect(printed.map((line) => Number(line.slice(3)))).toEqual([1, 11, 21, 31, 41, 51]);
  print('the last', true);
  print('the last', true);
  expect(printed.slice(-2)).toEqual(['at 51', 'the last']);
});

it('draws only on a terminal that can move its cursor, in colours if it has any', () => {
  const stream = (isTTY: boolean, hasColors = true) =>
    ({ isTTY, hasColors: () => hasColors, columns: 40, rows: 12 }) as unknown as NodeJS.WriteStream;
  expect(terminalOf(stream(false), {})).toBeNull();
  expect(terminalOf(stream(true), { TERM: 'dumb' })).toBeNull();
  const drawn = (hasColors: boolean) => terminalOf(stream(true, hasColors), {})?.space();
  expect(drawn(true)).toMatchObject({ columns: 40, rows: 12 });
  expect([drawn(true), drawn(false)].map((space) => space?.paint('red', 'x'))).toEqual(['\u001b[31mx\u001b[39m', 'x']);
});
