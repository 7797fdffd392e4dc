/**
 * The integers of a DECIMAL in Parquet, which count its smallest unit, as decimals of PostgreSQL: by their bytes,
 * without a BigInt or a text for each.
 */

import { numericHead, writeInt16 } from '../../model/binary/numeric.ts';

/** Longer ones than any program writes. */
const longestBytes = 32;
const limbUnit = 2 ** 24;
/** Of the magnitude, 24 bits each, the most significant one first. The first is for a carry. */
const limbs = new Float64Array(2 + Math.ceil(longestBytes / 3));
const pairUnit = 100_000_000;
const groupUnit = 10_000;
/** Of four decimal digits, the least significant one first. */
const groups = new Int32Array(32);
const powers = [1, 10, 100, 1000] as const;

/** Integers of a fixed length. */
export interface FixedForm {
  /** Bytes of each. */
  readonly size: number;
  /** Digits after the point of its unit. */
  readonly scale: number;
}

/**
 * Writes the integer in two's complement that starts at `from`, the most significant byte first.
 *
 * @param digits after the point that the value has at least.
 * @returns where the value ends; -1: it has too many bytes.
 */
export function writeBytes(
  integers: Uint8Array,
  from: number,
  { size, scale }: FixedForm,
  digits: number,
  bytes: Uint8Array,
  to: number,
): number {
  if (size > longestBytes) return -1;
  const isNegative = size > 0 && (integers[from] ?? 0) > 127;
  const mask = isNegative ? 0xff : 0;
  const count = 1 + Math.ceil(size / 3);
  let at = from;
  for (let limb = 1; limb < count; limb += 1) {
    let value = 0;
    // The first one has what the others leave.
    const end = from + size - 3 * (count - 1 - limb);
    for (; at < end; at += 1) value = (value << 8) | ((integers[at] ?? 0) ^ mask);
    limbs[limb] = value;
  }
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
  const mask = isNegative ? -1 : 0;
  const [upper, lower] = [high ^ mask, low ^ mask];
  limbs[1] = upper >>> 16;
  limbs[2] = ((upper & 0xffff) << 8) | (lower >>> 24);
  limbs[3] = lower & 0xff_ff_ff;
  return writeLimbs(4, isNegative, scale, digits, bytes, to);
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
  limbs[0] = 0;
  if (missing > 0 || isNegative) multiply(count, powers[missing] ?? 1, isNegative);
  const found = divide(count);
  const fractions = (scale + missing) / 4;
  let lowest = 0;
  while (lowest < found && groups[lowest] === 0) lowest += 1;
  const isZero = lowest === found;
  const written = found - lowest;
  writeInt16(bytes, to, 0);
  writeInt16(bytes, to + 2, 8 + 2 * written);
  writeInt16(bytes, to + 4, written);
  writeInt16(bytes, to + 6, isZero ? 0 : found - 1 - fractions);
  writeInt16(bytes, to + 8, isNegative && !isZero ? 0x4000 : 0);
  writeInt16(bytes, to + 10, Math.max(digits, isZero ? 0 : fractionDigits(lowest, fractions)));
  let end = to + numericHead;
  for (let group = found - 1; group >= lowest; group -= 1) {
    writeInt16(bytes, end, groups[group] ?? 0);
    end += 2;
  }
  return end;
}

/** Multiplies the limbs, of a negative integer after one is added. */
function multiply(count: number, factor: number, isNegative: boolean): void {
  let carry = isNegative ? factor : 0;
  for (let at = count - 1; at > 0; at -= 1) {
    const product = (limbs[at] ?? 0) * factor + carry;
    carry = Math.floor(product / limbUnit);
    limbs[at] = product - carry * limbUnit;
  }
  limbs[0] = carry;
}

/** Divides the limbs until nothing is left: two groups at once, which a double holds exactly. @returns their number. */
function divide(count: number): number {
  let first = 0;
  while (first < count && limbs[first] === 0) first += 1;
  let found = 0;
  while (first < count) {
    let rest = 0;
    for (let at = first; at < count; at += 1) {
      const dividend = rest * limbUnit + (limbs[at] ?? 0);
      const quotient = Math.floor(dividend / pairUnit);
      limbs[at] = quotient;
      rest = dividend - quotient * pairUnit;
    }
    const upper = Math.floor(rest / groupUnit);
    groups[found++] = rest - upper * groupUnit;
    groups[found++] = upper;
    while (first < count && limbs[first] === 0) first += 1;
  }
  return found > 0 && groups[found - 1] === 0 ? found - 1 : found;
}

/** Digits after the point, without the zeros at the end. @param lowest group that is not zero. */
function fractionDigits(lowest: number, fractions: number): number {
  if (lowest >= fractions) return 0;
  const group = groups[lowest] ?? 0;
  const zeros = group % 1000 === 0 ? 3 : group % 100 === 0 ? 2 : group % 10 === 0 ? 1 : 0;
  return 4 * (fractions - lowest) - zeros;
}
