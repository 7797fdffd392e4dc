/**
 * Reads the decimals of candles from the bytes of an answer: in a fraction of the time of a pattern, and without an object for
 * each. They have the form that sources use: without sign, exponent or leading zeros. The caller reads any other row by JSON
 * or a schema.
 */

import { longestDecimal } from '../model/decimal.ts';

const [point, zero, nine] = [46, 48, 57] as const;
/** The columns of a candle, in the order of its decimals. */
const [open, high, low, close] = [0, 1, 2, 3] as const;
export const columns = 5;
/** Places of a decimal: its start, the end of its whole digits, its end. */
const places = 3;

/** Where the decimals of a candle are. */
export type Places = Int32Array;

export const newPlaces = (): Places => new Int32Array(columns * places);

export function startOf(row: Places, column: number): number {
  return row[column * places] ?? 0;
}

export function endOf(row: Places, column: number): number {
  return row[column * places + 2] ?? 0;
}

/** Notes the places of the decimal that starts here. @returns where it ends; -1 if none of the plain form starts here. */
export function scanDecimal(bytes: Buffer, from: number, row: Places, column: number): number {
  let at = from;
  let byte = bytes[at] ?? 0;
  while (byte >= zero && byte <= nine) byte = bytes[++at] ?? 0;
  const whole = at - from;
  if (whole === 0 || (whole > 1 && bytes[from] === zero)) return -1;
  row[column * places] = from;
  row[column * places + 1] = at;
  if (byte === point) {
    const fraction = ++at;
    byte = bytes[at] ?? 0;
    while (byte >= zero && byte <= nine) byte = bytes[++at] ?? 0;
    if (at === fraction) return -1;
  }
  row[column * places + 2] = at;
  return at - from > longestDecimal ? -1 : at;
}

/** Whether the decimals are possible for a candle. False decides nothing: trailing zeros are not compared. */
export function isPossible(bytes: Buffer, row: Places): boolean {
  return (
    isAtMost(bytes, row, low, open) &&
    isAtMost(bytes, row, open, high) &&
    isAtMost(bytes, row, low, close) &&
    isAtMost(bytes, row, close, high)
  );
}

/** Whether column `a` is at most column `b`, as text. */
function isAtMost(bytes: Buffer, row: Places, a: number, b: number): boolean {
  let at = row[a * places] ?? 0;
  let beside = row[b * places] ?? 0;
  const longer = (row[b * places + 1] ?? 0) - beside - ((row[a * places + 1] ?? 0) - at);
  if (longer !== 0) return longer > 0;
  const end = row[a * places + 2] ?? 0;
  const endBeside = row[b * places + 2] ?? 0;
  for (; at < end; at += 1, beside += 1) {
    if (beside >= endBeside) return false;
    const difference = (bytes[beside] ?? 0) - (bytes[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
