/**
 * Decimals in PostgreSQL's binary form, as COPY takes and gives them: exact, and compared without an object for each.
 *
 * A value begins with its length (-1: null), four bytes. Then follow, two bytes each: the number of groups of four
 * decimal digits, the weight of the first group (a power of 10,000), the sign, the digits after the point, and the
 * groups. No group of zeros begins or ends a value, so that equal bytes are equal values with equal digits.
 *
 * Source: `numeric_recv` and `numeric_send` in src/backend/utils/adt/numeric.c.
 */

import { type DecimalText, largestExponent, longestDecimal, plainText } from '../decimal.ts';

/** Length, count, weight, sign and scale. */
export const numericHead = 12;
const [minus, point, zero, nine] = [45, 46, 48, 57] as const;
const [positive, negative] = [0, 0x4000] as const;
/** The text of a group of four digits. */
const groupTexts = Array.from({ length: 10_000 }, (_, group) => String(group).padStart(4, '0'));

export function writeInt16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >> 8;
  bytes[at + 1] = value;
}

export const int16At = (bytes: Uint8Array, at: number): number =>
  (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16)) >> 16;

export const int32At = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);

/** Bytes of a value with its length: a null has only that. */
export const sizeAt = (bytes: Uint8Array, at: number): number => 4 + Math.max(0, int32At(bytes, at));

export function writeNull(bytes: Uint8Array, at: number): number {
  bytes.fill(0xff, at, at + 4);
  return at + 4;
}

/**
 * Completes a value whose groups are written from `at + numericHead` to `end`.
 *
 * @param weight of the first group. @param scale digits after the point.
 * @returns where the value ends.
 */
function endNumeric(
  bytes: Uint8Array,
  at: number,
  end: number,
  { weight, isNegative, scale }: { weight: number; isNegative: boolean; scale: number },
): number {
  const first = at + numericHead;
  let last = end;
  while (last > first && bytes[last - 1] === 0 && bytes[last - 2] === 0) last -= 2;
  let kept = first;
  while (kept < last && bytes[kept] === 0 && bytes[kept + 1] === 0) kept += 2;
  if (kept > first) {
    bytes.copyWithin(first, kept, last);
    last -= kept - first;
  }
  const groups = (last - first) >> 1;
  const length = last - at - 4;
  writeInt16(bytes, at, 0);
  writeInt16(bytes, at + 2, length);
  writeInt16(bytes, at + 4, groups);
  writeInt16(bytes, at + 6, groups === 0 ? 0 : weight - ((kept - first) >> 1));
  writeInt16(bytes, at + 8, isNegative && groups > 0 ? negative : positive);
  writeInt16(bytes, at + 10, scale);
  return last;
}

/**
 * Writes the decimal that starts at `from`: digits, with a sign before them and a point within them, without an
 * exponent.
 *
 * @returns where it ends in the text; `from` if none starts there.
 */
export function writeNumeric(text: Uint8Array, from: number, bytes: Uint8Array, to: number): number {
  let at = from;
  const isNegative = text[at] === minus;
  if (isNegative) at += 1;
  const start = at;
  let end = at;
  for (let byte = text[end] ?? 0; byte >= zero && byte <= nine; byte = text[end] ?? 0) end += 1;
  // Groups of four digits begin at the point, to both sides.
  const weight = ((end - at + 3) >> 2) - 1;
  let left = end - at - 4 * weight;
  let length = to + numericHead;
  let group = 0;
  while (at < end) {
    for (group = 0; left > 0; left -= 1) group = group * 10 + (text[at++] ?? 0) - zero;
    bytes[length++] = group >> 8;
    bytes[length++] = group;
    left = 4;
  }
  let scale = 0;
  if (text[at] === point) {
    at += 1;
    const fraction = at;
    let digits = 0;
    group = 0;
    for (let byte = text[at] ?? 0; byte >= zero && byte <= nine; byte = text[at] ?? 0) {
      group = group * 10 + byte - zero;
      at += 1;
      digits += 1;
      if (digits === 4) {
        bytes[length++] = group >> 8;
        bytes[length++] = group;
        digits = 0;
        group = 0;
      }
    }
    scale = at - fraction;
    if (scale === 0) return from;
    if (digits > 0) {
      for (; digits < 4; digits += 1) group *= 10;
      bytes[length++] = group >> 8;
      bytes[length++] = group;
    }
  }
  if (end === start) return from;
  endNumeric(bytes, to, length, { weight, isNegative, scale });
  return at;
}

/** A decimal, and what ends it. */
const written = Buffer.alloc(longestDecimal + largestExponent + 4);

/** Writes any decimal. @returns where it ends. */
export function writeDecimal(decimal: DecimalText, bytes: Uint8Array, to: number): number {
  written.write(`${plainText(decimal)},`, 'latin1');
  writeNumeric(written, 0, bytes, to);
  return to + sizeAt(bytes, to);
}

/** Bytes of the longest one: groups of four digits, on both sides of the point one that is not full. */
export const longestNumeric = numericHead + 2 * (Math.ceil((longestDecimal + largestExponent) / 4) + 2);

/** Whether a value is zero. */
export const isZeroAt = (bytes: Uint8Array, at: number): boolean => int16At(bytes, at + 4) === 0;

export const isNegativeAt = (bytes: Uint8Array, at: number): boolean => int16At(bytes, at + 8) === negative;

/** Compares two values exactly: negative, zero or positive like `a - b`. */
export function compareNumerics(bytes: Uint8Array, a: number, b: number): number {
  const [isNegative, isOtherNegative] = [isNegativeAt(bytes, a), isNegativeAt(bytes, b)];
  if (isNegative !== isOtherNegative) return isNegative ? -1 : 1;
  return isNegative ? compareSizes(bytes, b, a) : compareSizes(bytes, a, b);
}

function compareSizes(bytes: Uint8Array, a: number, b: number): number {
  const [groups, otherGroups] = [int16At(bytes, a + 4), int16At(bytes, b + 4)];
  if (groups === 0 || otherGroups === 0) return groups - otherGroups;
  const weights = int16At(bytes, a + 6) - int16At(bytes, b + 6);
  if (weights !== 0) return weights;
  const common = 2 * Math.min(groups, otherGroups);
  for (let place = numericHead; place < numericHead + common; place += 1) {
    const difference = (bytes[a + place] ?? 0) - (bytes[b + place] ?? 0);
    if (difference !== 0) return difference;
  }
  return groups - otherGroups;
}

/** The decimal as text with all its digits; null: none. */
export function numericText(bytes: Uint8Array, at: number): string | null {
  if (int32At(bytes, at) < 0) return null;
  const groups = int16At(bytes, at + 4);
  const weight = int16At(bytes, at + 6);
  const scale = int16At(bytes, at + 10);
  const sign = int16At(bytes, at + 8) & 0xffff;
  if (sign > negative) return { 49152: 'NaN', 53248: 'Infinity' }[sign] ?? '-Infinity';
  const group = (power: number) => {
    const place = weight - power;
    return place >= 0 && place < groups ? (groupTexts[int16At(bytes, at + numericHead + 2 * place)] ?? '') : '0000';
  };
  let whole = '';
  for (let power = weight; power >= 0; power -= 1) whole += group(power);
  let fraction = '';
  for (let power = -1; fraction.length < scale; power -= 1) fraction += group(power);
  const shown = `${sign === negative ? '-' : ''}${whole.replace(/^0+(?=\d)/, '') || '0'}`;
  return scale === 0 ? shown : `${shown}.${fraction.slice(0, scale)}`;
}
