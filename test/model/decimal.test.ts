import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareDecimals, decimalText, differenceOf, isDecimalText, productOf } from '../../model/decimal.ts';

/** The value as an integer, at a scale that holds every text below. */
function scaled(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.split(/e/i);
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(60 - fraction.length + Number(exponent));
}

const digits = fc.stringMatching(/^\d{1,20}$/);
const plain = fc
  .tuple(fc.constantFrom('', '-'), digits, fc.option(digits))
  .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}`);
const decimals = fc
  .tuple(plain, fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), fc.nat(20))))
  .map(([text, exponent]) => (exponent === null ? text : `${text}${exponent.join('')}`));

test('compareDecimals agrees with integer arithmetic', () => {
  fc.assert(
    fc.property(decimals, decimals, (a, b) => {
      const difference = scaled(a) - scaled(b);
      const sign = difference < 0n ? -1 : difference > 0n ? 1 : 0;
      expect(Math.sign(compareDecimals(decimalText(a), decimalText(b)))).toBe(sign);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['0.01', '1', '0.01'],
  ['1000000', '10', '10000000'],
  ['0.10', '-0.5', '-0.050'],
  ['1e-7', '2E3', '0.0002000'],
  ['0', '123.4', '0.0'],
])('%s times %s is %s', (a, b, product) => {
  expect(productOf(decimalText(a), decimalText(b))).toBe(product);
});

test.each([
  ['1.50', '1.2', '0.30'],
  ['1.2', '1.50', '-0.30'],
  ['0.00000012', '1.1e-7', '0.00000001'],
  ['12345678901234567890.1', '12345678901234567890', '0.1'],
  ['-1', '-1.00', '0.00'],
])('%s less %s is %s, exactly', (a, b, difference) => {
  expect(differenceOf(decimalText(a), decimalText(b))).toBe(difference);
});

describe('isDecimalText', () => {
  test.each(['0', '-0.50', '007', '1e5', '1E-7', '21000000.0000000000000000', '9'.repeat(200)])('takes %s', (text) => {
    expect(isDecimalText(text)).toBe(true);
  });

  test.each(['', '1 ', '+1', '.5', '0x10', 'NaN', '-', '1e999', '9'.repeat(201), '١'])('refuses %j', (text) => {
    expect(isDecimalText(text)).toBe(false);
  });
});
