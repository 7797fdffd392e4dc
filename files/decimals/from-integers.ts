/**
 * The integers of a DECIMAL in Parquet, which count its smallest unit, as decimals of PostgreSQL: by their bytes,
 * without a BigInt or a text for each.
 */

import { numericHead, writeInt16 } from '../../model/binary/numeric.ts';

/** Longer ones than any program writes. */
const longestBytes = 32;
/** Of the magnitude, 16 bits each, the most significant one first. The first is for a carry. */
const limbs = new Int32Array(2 + longestBytes / 2);
/** Of four decimal digits, the least significant one first. */
const groups = new Int32Array(32);
const powers = [1, 10, 100, 1000] as const;

/**
 * Writes an integer in two's complement, the most significant byte first.
 *
 * @param scale digits after the point of its unit. @param digits after the point that the value has at least.
 * @returns where the value ends; -1: it has too many bytes.
 */
export function writeBytes(integer: Uint8Array, scale: number, digits: number, bytes: Uint8Array, to: number): number {
  const size = integer.length;
  if (size > longestBytes) return -1;
  const isNegative = size > 0 && (integer[0] ?? 0) > 127;
  const [byteMask, mask] = isNegative ? [0xff, 0xffff] : [0, 0];
  let count = 1;
  let at = 0;
  if (size % 2 === 1) limbs[count++] = (integer[at++] ?? 0) ^ byteMask;
  for (; at < size; at += 2) limbs[count++] = (((integer[at] ?? 0) << 8) | (integer[at + 1] ?? 0)) ^ mask;
  return writeLimbs(count, isNegative, scale, digits, bytes, to);
}

/** Writes an integer of 64 bits, given as two halves of 32. @returns where the value ends. */
export function writeHalves(
  high: number,
  low: number,
  scale: number,
  digits: number,
  bytes: Uint8Array,
  to: number,
): number {
  const isNegative = high < 0;
  const mask = isNegative ? 0xffff : 0;
  limbs[1] = (high >>> 16) ^ mask;
  limbs[2] = (high & 0xffff) ^ mask;
  limbs[3] = (low >>> 16) ^ mask;
  limbs[4] = (low & 0xffff) ^ mask;
  return writeLimbs(5, isNegative, scale, digits, bytes, to);
}

/** @param isNegative then the limbs are inverted, and one less than the magnitude. */
function writeLimbs(
  count: number,
  isNegative: boolean,
  scale: number,
  digits: number,
  bytes: Uint8Array,
  to: number,
): number {
  // Groups of four digits begin at the point.
  const missing = (4 - (scale % 4)) % 4;
  const factor = powers[missing] ?? 1;
  let carry = isNegative ? factor : 0;
  for (let at = count - 1; at > 0; at -= 1) {
    const product = (limbs[at] ?? 0) * factor + carry;
    limbs[at] = product & 0xffff;
    carry = product >>> 16;
  }
  limbs[0] = carry;
  const found = divide(count);
  const fractions = (scale + missing) / 4;
  let lowest = 0;
  while (lowest < found && groups[lowest] === 0) lowest += 1;
  const isZero = lowest === found;
  const written = isZero ? 0 : found - lowest;
  const length = 8 + 2 * written;
  writeInt16(bytes, to, 0);
  writeInt16(bytes, to + 2, length);
  writeInt16(bytes, to + 4, written);
  writeInt16(bytes, to + 6, isZero ? 0 : found - 1 - fractions);
  writeInt16(bytes, to + 8, isNegative && !isZero ? 0x4000 : 0);
  writeInt16(bytes, to + 10, Math.max(digits, isZero ? 0 : fractionDigits(lowest, fractions)));
  let end = to + numericHead;
  for (let group = found - 1; group >= lowest; group -= 1) {
    writeInt16(bytes, end, groups[group] ?? 0);
    end += 2;
  }
  return to + 4 + length;
}

/** Divides the limbs by 10,000 until nothing is left. @returns the number of groups. */
function divide(count: number): number {
  let first = 0;
  while (first < count && limbs[first] === 0) first += 1;
  let found = 0;
  while (first < count) {
    let rest = 0;
    for (let at = first; at < count; at += 1) {
      const dividend = rest * 65_536 + (limbs[at] ?? 0);
      const quotient = (dividend / 10_000) | 0;
      limbs[at] = quotient;
      rest = dividend - quotient * 10_000;
    }
    groups[found++] = rest;
    while (first < count && limbs[first] === 0) first += 1;
  }
  return found;
}

/** Digits after the point, without the zeros at the end. @param lowest group that is not zero. */
function fractionDigits(lowest: number, fractions: number): number {
  if (lowest >= fractions) return 0;
  const group = groups[lowest] ?? 0;
  const zeros = group % 1000 === 0 ? 3 : group % 100 === 0 ? 2 : group % 10 === 0 ? 1 : 0;
  return 4 * (fractions - lowest) - zeros;
}
