/**
 * Whether the two volumes of a candle agree. What was traded is counted in the base and in the quote asset, and the one
 * over the other is the average price: it lies between low and high. Columns that are exchanged, or of another market,
 * do not.
 */

import { type DecimalText, isDecimalText } from './decimal.ts';
import type { Point } from './point-lines.ts';

/** Prices and both volumes are rounded, and some sources count trades that set no price. */
const tolerance = 0.01;

export interface Traded {
  readonly low: DecimalText;
  readonly high: DecimalText;
  /** In the base asset. */
  readonly volume: DecimalText;
  /** In the quote asset. */
  readonly turnover: DecimalText;
}

/** @param turnover of a candle; null: it is no decimal. */
export function tradedOf({ values }: Point, turnover: unknown): Traded | null {
  const [, high, low, , volume] = values;
  if (typeof turnover !== 'string' || !isDecimalText(turnover)) return null;
  return high == null || low == null || volume == null ? null : { high, low, volume, turnover };
}

/** @returns why not; null: they agree. Exact to a double: digits that it lacks are far below the tolerance. */
export function turnoverProblem(traded: Traded): string | null {
  const volume = Number(traded.volume);
  const turnover = Number(traded.turnover);
  const least = Number(traded.low) * (volume - lastDigit(traded.volume)) * (1 - tolerance);
  const most = Number(traded.high) * (volume + lastDigit(traded.volume)) * (1 + tolerance);
  const slack = lastDigit(traded.turnover);
  if (turnover >= least - slack && turnover <= most + slack) return null;
  return 'its volume in the quote asset over that in the base asset is not between low and high';
}

/** Of a double that was computed from digits, and its sum with others. */
const rounding = 1e-9;

/** Whether the two agree beyond the rounding of these numbers. False decides nothing. */
export function clearlyAgree(low: number, high: number, volume: number, turnover: number): boolean {
  const [least, most] = [low * volume * (1 - tolerance), high * volume * (1 + tolerance)];
  return turnover >= least * (1 + rounding) && turnover <= most * (1 - rounding);
}

/** Whether the two agree only if they are exchanged. */
export function isExchanged(traded: Traded): boolean {
  const exchanged = { ...traded, volume: traded.turnover, turnover: traded.volume };
  return turnoverProblem(traded) !== null && turnoverProblem(exchanged) === null;
}

/** The value of one in the last written digit: `1.50` gives 0.01. */
function lastDigit(text: string): number {
  const [, fraction = '', exponent = '0'] = /^-?\d+(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  return 10 ** (Number(exponent) - fraction.length);
}
