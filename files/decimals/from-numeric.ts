/**
 * Decimals in PostgreSQL's binary form, as COPY sends them, without a number or a text between.
 *
 * Source: src/backend/utils/adt/numeric.c (`numeric_send`): the count of groups, the weight of the first, the sign, the
 * digits after the point, and groups of four digits. A group of weight 0 stands before the point. Groups of zeros at
 * both ends are left out.
 */

/** Where the groups begin. */
const headBytes = 8;
const negative = 0x4000;
/** Of NaN and both infinities. */
const notFinite = 0x8000;
const zero = 0x30;

/** The digits after the point, trailing zeros included. @param at where a decimal begins, after its length. */
export function scaleOf(bytes: Uint8Array, at: number): number {
  return (readUint16(bytes, at + 4) & notFinite) === 0 ? readUint16(bytes, at + 6) : 0;
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
  const count = readUint16(bytes, at);
  const sign = readUint16(bytes, at + 4);
  if ((sign & notFinite) !== 0) return false;
  if (count === 0) {
    words.fill(0);
    return true;
  }
  const weight = (readUint16(bytes, at + 2) << 16) >> 16;
  const first = at + headBytes;
  if (weight >= 0 && 4 * weight + digitsOf(readUint16(bytes, first)) > beforePoint) return false;
  // Whole groups up to the scale, and the digits of one more.
  const whole = weight + 1 + (afterPoint >> 2);
  const part = afterPoint & 3;
  let rest = 0;
  if (count > whole) {
    if (count > whole + 1 || part === 0) return false;
    // Of a number that is smaller than the first digit of the scale.
    if (whole < 0) return false;
    const divisor = powersOfTen[4 - part] ?? 1;
    const group = readUint16(bytes, first + 2 * whole);
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
  if (sign === negative) {
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

/** The bytes of the longest text of a decimal. */
export function longestText(bytes: Uint8Array, at: number): number {
  const weight = (readUint16(bytes, at + 2) << 16) >> 16;
  return 16 + 4 * Math.max(0, weight) + scaleOf(bytes, at);
}

/** Writes a decimal as text, as PostgreSQL does. @returns where the text ends. */
export function writeText(bytes: Uint8Array, at: number, text: Uint8Array, to: number): number {
  const count = readUint16(bytes, at);
  const weight = (readUint16(bytes, at + 2) << 16) >> 16;
  const sign = readUint16(bytes, at + 4);
  const first = at + headBytes;
  let end = to;
  if ((sign & notFinite) !== 0) {
    for (const letter of { 49152: 'NaN', 53248: 'Infinity' }[sign] ?? '-Infinity') text[end++] = letter.charCodeAt(0);
    return end;
  }
  if (sign === negative) text[end++] = 0x2d;
  if (weight < 0) text[end++] = zero;
  for (let group = 0; group <= weight; group += 1) {
    const value = groupAt(bytes, first, group, count);
    for (let place = group === 0 ? digitsOf(value) - 1 : 3; place >= 0; place -= 1)
      text[end++] = zero + (Math.floor(value / (powersOfTen[place] ?? 1)) % 10);
  }
  const scale = scaleOf(bytes, at);
  if (scale > 0) text[end++] = 0x2e;
  for (let digit = 0; digit < scale; digit += 1) {
    const value = groupAt(bytes, first, weight + 1 + (digit >> 2), count);
    text[end++] = zero + (Math.floor(value / (powersOfTen[3 - (digit & 3)] ?? 1)) % 10);
  }
  return end;
}

export function textOf(bytes: Uint8Array, at: number): string {
  const text = Buffer.allocUnsafe(longestText(bytes, at));
  return text.toString('latin1', 0, writeText(bytes, at, text, 0));
}

/** The nearest double. */
export function toDouble(bytes: Uint8Array, at: number): number {
  const count = readUint16(bytes, at);
  const sign = readUint16(bytes, at + 4);
  if ((sign & notFinite) !== 0 || count > 3) return Number(textOf(bytes, at));
  const weight = (readUint16(bytes, at + 2) << 16) >> 16;
  const exponent = 4 * (weight + 1 - count);
  // Both are exact up to 10^22, so the quotient or product is rounded once.
  if (Math.abs(exponent) > 22) return Number(textOf(bytes, at));
  let value = 0;
  for (let group = 0; group < count; group += 1) value = value * 10_000 + readUint16(bytes, at + headBytes + 2 * group);
  value = exponent < 0 ? value / 10 ** -exponent : value * 10 ** exponent;
  return sign === negative ? -value : value;
}

function groupAt(bytes: Uint8Array, first: number, group: number, count: number): number {
  return group >= 0 && group < count ? readUint16(bytes, first + 2 * group) : 0;
}

function digitsOf(group: number): number {
  return group >= 1000 ? 4 : group >= 100 ? 3 : group >= 10 ? 2 : 1;
}

function readUint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}
