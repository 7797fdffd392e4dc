import fc from 'fast-check';
import { expect, test } from 'vitest';
import { minuteMs } from '../../model/intervals.ts';
import { pointAt } from '../../model/point-lines.ts';
import { candleCsv } from '../../sources/candle-csv.ts';
import { pointReader } from '../../sources/rows.ts';
import { candlesOf } from '../parts/points.ts';

const startMs = Date.UTC(2024, 4, 1);
const range = { startMs, endMs: startMs + 5 * minuteMs };
const form = { columns: 7, timeDigits: 13, interval: 'm1', range } as const;

/** Decimals that are close to each other, and texts that are none. */
const value = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom('1', '1.0', '1.00', '1.01', '9.9', '10', '10.0', '2.5', '0.5', '0') },
  { weight: 2, arbitrary: fc.constantFrom('', '.5', '5.', '01', '00', '-1', '+1', '1e3', 'nan', '1.1.1', ' 1', '1\r') },
  { weight: 1, arbitrary: fc.integer({ min: 195, max: 205 }).map((digits) => '7'.repeat(digits)) },
);
const time = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: -1, max: 6 }).map((place) => String(startMs + place * minuteMs)) },
  { weight: 1, arbitrary: fc.constantFrom(String(startMs + 1), `${startMs}000`, String(startMs).slice(1), '', 'x') },
);
const line = fc
  .tuple(time, fc.array(value, { minLength: 5, maxLength: 5 }), fc.constantFrom(',', ',9', ',a', '', ',1,2'))
  .map(([at, values, rest]) => `${at},${values.join()}${rest}`);

test('reads what the row reader accepts, to the digit, and leaves every other line alone', () => {
  const read = pointReader('candles', 'm1');
  let whole = 0;
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.boolean(), (texts, hasEnd) => {
      const file = Buffer.from(texts.join('\n') + (hasEnd && texts.length > 0 ? '\n' : ''));
      const csv = candleCsv(file, form);
      const others = [...csv.read()].flat();
      const lines = csv.end();
      const rows = lines.timesMs.map((_, place) => pointAt(lines, place));
      const left = [...others];
      const kept = texts.filter((text) => {
        const place = left.indexOf(text);
        if (place !== -1) left.splice(place, 1);
        return place === -1 && text !== '';
      });
      expect(left.filter((text) => text !== '')).toEqual([]);
      const expected = kept.map((text) => {
        const [at, open, high, low, close, volume] = text.split(',');
        return read({ open, high, low, close, volume, period: Number(at) });
      });
      whole += rows.length;
      expect(rows).toEqual(
        expected.filter((row) => typeof row === 'string' || (row.timeMs >= startMs && row.timeMs < range.endMs)),
      );
    }),
    { numRuns: 5000 },
  );
  expect(whole).toBeGreaterThan(100);
});

test('a file of usual lines has none of another form', () => {
  const lines = ['1.5,2,1.25,1.75,0', '10.10,10.10,9.99,9.99,3.0', '0.1,0.10,0.1,0.1,7'];
  const text = lines.map((values, place) => `${(startMs + place * minuteMs) * 1000},${values},x\n`).join('');
  const csv = candleCsv(Buffer.from(text), { ...form, timeDigits: 16 });
  expect([...csv.read()]).toEqual([[]]);
  const rows = candlesOf(csv.end());
  expect(rows.map(({ period }) => period)).toEqual([0, 1, 2].map((place) => startMs + place * minuteMs));
  expect(rows.map(({ open, high, low, close, volume }) => [open, high, low, close, volume].join())).toEqual(lines);
});

test('candles that were read elsewhere follow', () => {
  const csv = candleCsv(Buffer.from(`${startMs},1,1,1,1,1,x\n`), form);
  expect([...csv.read()]).toEqual([[]]);
  const candle = { open: '-1', high: '1e3', low: '-2', close: '0', volume: '4', period: startMs + minuteMs };
  const row = pointReader('candles', 'm1')(candle);
  if (typeof row === 'string') throw new Error(row);
  csv.add(row);
  expect(candlesOf(csv.end())).toEqual([
    { open: '1', high: '1', low: '1', close: '1', volume: '1', period: startMs },
    candle,
  ]);
});
