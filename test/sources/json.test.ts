import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExactJson } from '../../sources/json.ts';

const numbers = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.stringMatching(/^(0|[1-9]\d{0,24})$/),
    fc.option(fc.stringMatching(/^\d{1,40}$/)),
    fc.option(fc.stringMatching(/^[eE][+-]?\d{1,3}$/)),
  )
  .map(
    ([sign, whole, fraction, exponent]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent ?? ''}`,
  );
const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

describe('parseExactJson', () => {
  test('keeps every digit of a decimal, as text or as a number, at any place', () => {
    fc.assert(
      fc.property(numbers, space, fc.string(), (number, gap, noise) => {
        const text = `{"noise":${JSON.stringify(noise)},"text":"${number}","number"${gap}:${gap}${number}${gap},"list":[${gap}${number},${gap}${number}${gap}]}`;
        const value = parseExactJson(text);
        const { list, ...rest } = value as { list: unknown[] };
        expect({ ...rest, number: String((value as { number: unknown }).number) }).toEqual({
          noise,
          text: number,
          number,
        });
        expect(list.map(String)).toEqual([number, number]);
        expect(String(parseExactJson(`${gap}${number}${gap}`))).toBe(number);
      }),
      { numRuns: 1000 },
    );
  });

  test('returns a number only when it is written as JavaScript writes it', () => {
    expect(parseExactJson('[0, 7, -7, 999999999999999, 1633202746000]')).toEqual([
      0, 7, -7, 999999999999999, 1633202746000,
    ]);
    expect(parseExactJson('[1.5, 1.50, 1e3, -0, 9007199254740993]')).toEqual([
      '1.5',
      '1.50',
      '1e3',
      '-0',
      '9007199254740993',
    ]);
  });

  test('agrees with JSON.parse on everything but numbers, with both parsers', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false, maxDepth: 4 }), (text) => {
        const expected = JSON.parse(`[${text},0.5]`, (_, value) => (typeof value === 'number' ? Number(value) : value));
        const read = parseExactJson(`[${text},0.5]`) as unknown[];
        expect(numbersFrom(read)).toEqual(numbersFrom(expected));
        expect(numbersFrom(parseExactJson(text))).toEqual(numbersFrom(JSON.parse(text)));
      }),
      { numRuns: 300 },
    );
  });

  test.each(['', '{', '{"a":1.5,}', '[1.5,]', '[01.5]', '[1.]', '[1.5] x', '[1.5,"\u0001"]', '[1.5,"open'])(
    '%j is no JSON',
    (text) => {
      expect(() => parseExactJson(text)).toThrow(SyntaxError);
    },
  );

  test.each([
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
    '{"__proto__":{"polluted":1.5}}',
  ])('%s changes no prototype', (text) => {
    const value = parseExactJson(text);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.hasOwn(value as object, '__proto__')).toBe(true);
    expect('polluted' in {}).toBe(false);
  });
});

/** Converts every number, or text of a number, to a double, for the comparison with JSON.parse. */
function numbersFrom(value: unknown): unknown {
  if (typeof value === 'string') return /^-?\d/.test(value) ? Number(value) : value;
  if (typeof value === 'number') return value;
  if (Array.isArray(value)) return value.map(numbersFrom);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).map(([key, field]) => [key, numbersFrom(field)]);
}
