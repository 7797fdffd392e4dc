import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountText, amountUnits, fixedText, powerOfTen, priceTail } from '../../simulator/digits.ts';

test('formats an amount exactly for any scale and tail', () => {
  const amounts = fc
    .tuple(
      fc.oneof(
        // As prices have it: the tail fills what the scale leaves.
        fc.integer({ min: 7, max: 16 }).map((scale) => ({ scale, tailDigits: 16 - scale })),
        // As volumes have it.
        fc.integer({ min: 0, max: 8 }).map((scale) => ({ scale, tailDigits: 8 })),
        fc.integer({ min: 0, max: 16 }).map((scale) => ({ scale, tailDigits: 0 })),
      ),
      fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 9_000_000_000_000_000 })),
      fc.integer({ min: 0, max: 999_999_999 }),
    )
    .map(([form, units, tail]) => ({ ...form, units, tail: tail % powerOfTen(form.tailDigits) }));
  fc.assert(
    fc.property(amounts, ({ units, scale, tail, tailDigits }) => {
      const text = amountText(units, scale, tail, tailDigits);
      expect(text).toMatch(/^\d+\.\d{16}$/);
      expect(BigInt(text.replace('.', ''))).toBe(amountUnits(units, scale, tail, tailDigits));
    }),
    { numRuns: 2000 },
  );
});

test('formats whole numbers of 10^-16 with sign and padding', () => {
  expect(fixedText(-1n)).toBe('-0.0000000000000001');
  expect(fixedText(0n)).toBe('0.0000000000000000');
  expect(fixedText(123_4567890123456789n)).toBe('123.4567890123456789');
  expect(fixedText(12n, 3)).toBe('0.012');
});

test('derives the tail from the units alone, within its digits', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 52 }), fc.integer({ min: 0, max: 9 }), (units, digits) => {
      const tail = priceTail(units, digits);
      expect(tail).toBe(priceTail(units, digits));
      expect(Number.isInteger(tail) && tail >= 0 && tail < powerOfTen(digits)).toBe(true);
    }),
  );
});
