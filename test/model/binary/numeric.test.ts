import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  compareNumerics,
  numericText,
  sizeAt,
  writeDecimal,
  writeNull,
  writeNumeric,
} from '../../../model/binary/numeric.ts';
import { compareDecimals, decimalText } from '../../../model/decimal.ts';

const digits = (least: number) =>
  fc.string({ unit: fc.constantFrom(...'0012345679'), minLength: least, maxLength: 30 });
/** The shortest text of its value and its digits after the point. */
const decimal = fc.tuple(fc.boolean(), digits(1), digits(0)).map(([isNegative, whole, fraction]) => {
  const text = `${whole.replace(/^0+(?=\d)/, '')}${fraction === '' ? '' : `.${fraction}`}`;
  return isNegative && /[1-9]/.test(text) ? `-${text}` : text;
});

test('text becomes binary and text again, and its place in the text does not matter', () => {
  fc.assert(
    fc.property(fc.array(decimal, { minLength: 1 }), (all) => {
      const text = Buffer.from(`${all.join(',')},`);
      const bytes = Buffer.alloc(200);
      let at = 0;
      for (const one of all) {
        const end = writeNumeric(text, at, bytes, 7);
        expect(end).toBe(at + one.length);
        expect(numericText(bytes, 7)).toBe(one);
        at = end + 1;
      }
    }),
  );
});

test.each(['', '-', '.5', '5.', '-.5', 'x', 'NaN'])('reads no decimal from "%s"', (text) => {
  expect(writeNumeric(Buffer.from(`${text},`), 0, Buffer.alloc(100), 0)).toBe(0);
});

test('compares as numbers, whatever their signs and digits', () => {
  fc.assert(
    fc.property(decimal, fc.oneof(decimal, fc.constantFrom('0', '0.00', '1', '-1')), fc.nat(3), (a, b, zeros) => {
      const longer = (text: string) => (text.includes('.') ? text + '0'.repeat(zeros) : text);
      for (const [one, other] of [
        [a, b],
        [a, longer(a)],
      ] as const) {
        const bytes = Buffer.alloc(400);
        const end = writeDecimal(decimalText(one), bytes, 0);
        writeDecimal(decimalText(other), bytes, end);
        expect(Math.sign(compareNumerics(bytes, 0, end))).toBe(
          Math.sign(compareDecimals(decimalText(one), decimalText(other))),
        );
      }
    }),
  );
});

test('has none in place of a value', () => {
  const bytes = Buffer.alloc(4);
  expect(writeNull(bytes, 0)).toBe(4);
  expect(numericText(bytes, 0)).toBeNull();
  expect(sizeAt(bytes, 0)).toBe(4);
});
