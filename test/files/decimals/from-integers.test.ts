import fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeBytes, writeHalves } from '../../../files/decimals/from-integers.ts';
import { decimalOf } from '../../../files/decimals/text.ts';
import { numericText, sizeAt, writeNumeric } from '../../../model/binary/numeric.ts';

/** Two's complement, the most significant byte first, in so many bytes or the fewest. */
function bytesOf(value: bigint, size: number): Uint8Array {
  let least = 1;
  while (BigInt.asIntN(least * 8, value) !== value) least += 1;
  const count = Math.max(size, least);
  const hex = BigInt.asUintN(count * 8, value)
    .toString(16)
    .padStart(count * 2, '0');
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}

const bits = (count: bigint) => fc.bigInt(-(2n ** (count - 1n)), 2n ** (count - 1n) - 1n);
const scale = fc.nat(40);

function expectSame(value: bigint, unit: number, digits: number, bytes: Buffer, end: number) {
  const text = decimalOf(value, unit, digits);
  expect(numericText(bytes, 3)).toBe(text);
  expect(end).toBe(3 + sizeAt(bytes, 3));
  // Equal values have equal bytes, as those that are stored.
  const other = Buffer.alloc(200);
  writeNumeric(Buffer.from(`${text},`), 0, other, 3);
  expect(bytes.subarray(3, end)).toEqual(other.subarray(3, end));
}

test('integers of any length are the decimals that they stand for', () => {
  const value = fc.oneof(bits(128n), bits(127n), bits(64n), bits(20n), fc.constantFrom(0n, -1n, 1n, 10n ** 37n));
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 20 }), scale, fc.nat(45), (integer, size, unit, digits) => {
      const bytes = Buffer.alloc(200);
      const integers = Buffer.concat([Buffer.of(7), bytesOf(integer, size), Buffer.of(255)]);
      const form = { size: integers.length - 2, scale: unit };
      expectSame(integer, unit, digits, bytes, writeBytes(integers, 1, form, digits, bytes, 3));
    }),
    { numRuns: 1000 },
  );
});

test('and those of 64 bits, in two halves', () => {
  fc.assert(
    fc.property(fc.oneof(bits(64n), bits(33n), bits(10n)), scale, fc.nat(45), (integer, unit, digits) => {
      const bytes = Buffer.alloc(200);
      const [high, low] = [Number(integer >> 32n), Number(BigInt.asIntN(32, integer))];
      expectSame(integer, unit, digits, bytes, writeHalves(high, low, unit, digits, bytes, 3));
    }),
    { numRuns: 1000 },
  );
});

test('leaves more bytes than any program writes to the caller', () => {
  expect(writeBytes(new Uint8Array(33), 0, { size: 33, scale: 0 }, 0, Buffer.alloc(200), 0)).toBe(-1);
});
