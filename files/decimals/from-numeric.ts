/**
 * Decimals in PostgreSQL's binary form (`model/binary/numeric.ts`) as the integers of a DECIMAL in Parquet, which count
 * its smallest unit, and as doubles: without a text or a BigInt for each.
 */

import { int16At, numericHead, numericText } from '../../model/binary/numeric.ts';

const negative = 0x4000;

/** Whether it is a number, and not infinite. @param at where a value begins, with its length. */
function isNumber(bytes: Uint8Array, at: number): boolean {
  return int16At(bytes, at + 8) >= 0;
}

/** The digits after the point, trailing zeros included. */
export function scaleOf(bytes: Uint8Array, at: number): number {
  return isNumber(bytes, at) ? int16At(bytes, at + 10) : 0;
}

const powersOfTen = [1, 10, 100, 1000, 10_000] as const;

/**
 * Converts a decimal to a whole number of 10^-scale, in two's complement of 128 bits.
 *
 * @param fits digits after the point, and before it; 38 together at most.
 * @param words are set, the least significant first.
 * @returns false when it has more digits: no word is set then.
 */
export function toInteger(
  bytes: Uint8Array,
  at: number,
  { afterPoint, beforePoint }: { readonly afterPoint: number; readonly beforePoint: number },
  words: Int32Array,
): boolean {
  if (!isNumber(bytes, at)) return false;
  const count = int16At(bytes, at + 4);
  if (count === 0) {
    words.fill(0);
    return true;
  }
  const weight = int16At(bytes, at + 6);
  const first = at + numericHead;
  if (weight >= 0 && 4 * weight + digitsOf(int16At(bytes, first)) > beforePoint) return false;
  // Whole groups up to the scale, and the digits of one more.
  const whole = weight + 1 + (afterPoint >> 2);
  const part = afterPoint & 3;
  let rest = 0;
  if (count > whole) {
    if (count > whole + 1 || part === 0) return false;
    // Of a number that is smaller than the first digit of the scale.
    if (whole < 0) return false;
    const divisor = powersOfTen[4 - part] ?? 1;
    const group = int16At(bytes, first + 2 * whole);
    if (group % divisor !== 0) return false;
    rest = group / divisor;
  }
  let group = 0;
  let low = 0;
  // Three groups and a part are below 2^53.
  for (; group < whole && group < 3; group += 1) low = low * 10_000 + groupAt(bytes, first, group, count);
  if (group >= whole) {
    low = low * (powersOfTen[part] ?? 1) + rest;
    group = whole + 1;
  }
  let w0 = low >>> 0;
  let w1 = (low - w0) / 0x1_0000_0000;
  let w2 = 0;
  let w3 = 0;
  for (; group <= whole; group += 1) {
    const factor = group < whole ? 10_000 : (powersOfTen[part] ?? 1);
    let sum = w0 * factor + (group < whole ? groupAt(bytes, first, group, count) : rest);
    w0 = sum >>> 0;
    sum = w1 * factor + (sum - w0) / 0x1_0000_0000;
    w1 = sum >>> 0;
    sum = w2 * factor + (sum - w1) / 0x1_0000_0000;
    w2 = sum >>> 0;
    w3 = w3 * factor + (sum - w2) / 0x1_0000_0000;
  }
  if (int16At(bytes, at + 8) === negative) {
    w0 = -w0 >>> 0;
    w1 = (~w1 + (w0 === 0 ? 1 : 0)) >>> 0;
    w2 = (~w2 + (w0 === 0 && w1 === 0 ? 1 : 0)) >>> 0;
    w3 = ~w3 + (w0 === 0 && w1 === 0 && w2 === 0 ? 1 : 0);
  }
  words[0] = w0;
  words[1] = w1;
  words[2] = w2;
  words[3] = w3;
  return true;
}

/** The nearest double. */
export function toDouble(bytes: Uint8Array, at: number): number {
  const count = int16At(bytes, at + 4);
  const exponent = 4 * (int16At(bytes, at + 6) + 1 - count);
  // Three groups and ten to the power of 22 are exact, so that their quotient or product is rounded once.
  if (!isNumber(bytes, at) || count > 3 || Math.abs(exponent) > 22) return Number(numericText(bytes, at));
  let value = 0;
  for (let group = 0; group < count; group += 1) value = value * 10_000 + int16At(bytes, at + numericHead + 2 * group);
  value = exponent < 0 ? value / 10 ** -exponent : value * 10 ** exponent;
  return int16At(bytes, at + 8) === negative ? -value : value;
}

function groupAt(bytes: Uint8Array, first: number, group: number, count: number): number {
  return group >= 0 && group < count ? int16At(bytes, first + 2 * group) : 0;
}

function digitsOf(group: number): number {
  return group >= 1000 ? 4 : group >= 100 ? 3 : group >= 10 ? 2 : 1;
}
