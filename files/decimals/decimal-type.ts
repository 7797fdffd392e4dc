/** The type DECIMAL of Parquet and Arrow: how many digits it holds, and what does not fit. */

/** Maximum digits of the values of a column. */
export interface Digits {
  readonly beforePoint: number;
  /** Without trailing zeros. */
  readonly afterPoint: number;
}

/** Digits of the longest DECIMAL. */
export const maxDigits = 38;

/** A value that its column cannot hold, such as `close of 2024-01-31T06:00:00Z is NaN, ...`. */
export class ValueMisfit extends RangeError {
  override readonly name = 'ValueMisfit';
}

/** Whether a decimal as text fits. */
export function fits(value: string, { beforePoint, afterPoint }: Digits): boolean {
  const { whole, fraction } = digitsOf(value);
  return whole <= beforePoint && fraction <= afterPoint;
}

/** Why a decimal does not fit: the rest of a sentence about it. */
export function misfitReason(value: string, { beforePoint, afterPoint }: Digits): string {
  const type = `DECIMAL(${beforePoint + afterPoint}, ${afterPoint})`;
  const { whole, fraction } = digitsOf(value);
  if (fraction > afterPoint) return `has ${fraction} fraction digits; ${type} holds ${afterPoint}`;
  if (whole > beforePoint) return `has ${whole} digits before the point; ${type} holds ${beforePoint}`;
  return `is ${value}, which ${type} does not hold`;
}

/** The digits of a decimal, without zeros at its ends. */
function digitsOf(value: string): { whole: number; fraction: number } {
  const [, whole = '', fraction = ''] = /^-?0*(\d*)(?:\.(\d*?)0*)?$/.exec(value) ?? [];
  return { whole: whole.length, fraction: fraction.length };
}
