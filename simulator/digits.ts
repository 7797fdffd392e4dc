/**
 * Exact amounts, and their text with 16 fraction digits.
 *
 * An amount is `units / 10^scale`, where `units` is a whole number below 2^53, plus a *tail*: digits below the units
 * that the same double could not hold. A price's tail is a hash of its units, so prices compare and aggregate by units
 * alone. A volume's tail is a second whole number that is summed separately.
 */

import type { DecimalText } from '../model/decimal.ts';

export const fractionDigits = 16;

const fourDigits = Array.from({ length: 10_000 }, (_, value) => String(value).padStart(4, '0'));
const powersOfTen = Array.from({ length: 17 }, (_, exponent) => Number(`1e${exponent}`));

export function powerOfTen(exponent: number): number {
  const power = powersOfTen[exponent];
  if (power === undefined) throw new RangeError(`no such scale: ${exponent}`);
  return power;
}

/**
 * Text of `units / 10^scale + tail / 10^(scale + tailDigits)`, padded to 16 fraction digits.
 * @param scale 0 to 16; with a tail, 7 or more. @param tailDigits at most 9 and at most `16 - scale`.
 */
export function amountText(units: number, scale: number, tail: number, tailDigits: number): DecimalText {
  const unit = powerOfTen(scale);
  const whole = Math.floor(units / unit);
  const fraction = units - whole * unit;
  const padded = tail * powerOfTen(fractionDigits - scale - tailDigits);
  let upper: number;
  let lower: number;
  if (scale >= 8) {
    const split = powerOfTen(scale - 8);
    upper = Math.floor(fraction / split);
    lower = (fraction - upper * split) * powerOfTen(fractionDigits - scale) + padded;
  } else {
    const carried = Math.floor(padded / 1e8);
    upper = fraction * powerOfTen(8 - scale) + carried;
    lower = padded - carried * 1e8;
  }
  return `${whole}.${group(upper)}${group(lower)}` as DecimalText;
}

/** Eight digits of a number below 10^8. */
function group(value: number): string {
  const upper = (value / 10_000) | 0;
  return `${fourDigits[upper]}${fourDigits[value - upper * 10_000]}`;
}

/** The same amount as a whole number of 10^-16. */
export function amountUnits(units: number, scale: number, tail: number, tailDigits: number): bigint {
  const upper = BigInt(units) * 10n ** BigInt(fractionDigits - scale);
  return upper + BigInt(tail) * 10n ** BigInt(fractionDigits - scale - tailDigits);
}

/** Text of `value / 10^digits`. */
export function fixedText(value: bigint, digits: number = fractionDigits): DecimalText {
  const sign = value < 0n ? '-' : '';
  const text = (value < 0n ? -value : value).toString().padStart(digits + 1, '0');
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}` as DecimalText;
}

/** The tail of a price: `digits` digits that depend only on its units. */
export function priceTail(units: number, digits: number): number {
  let hash = Math.imul((units | 0) ^ 0x5bd1e995, 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return Math.floor((hash * powerOfTen(digits)) / 0x1_0000_0000);
}
