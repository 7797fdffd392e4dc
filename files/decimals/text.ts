/** Decimals as text, and as the whole numbers that a DECIMAL stores. */

/** Converts a decimal to an integer of 10^-scale. @throws RangeError when it has more fraction digits. */
export function unscaled(text: string, scale: number): bigint {
  const point = text.indexOf('.');
  const fraction = point === -1 ? '' : text.slice(point + 1);
  const kept = fraction.length > scale ? fraction.replace(/0+$/, '') : fraction;
  if (kept.length > scale) throw new RangeError(`${text} has more than ${scale} fraction digits`);
  return BigInt((point === -1 ? text : text.slice(0, point)) + kept.padEnd(scale, '0'));
}

/** Converts back. @param digits of the fraction; null: without trailing zeros. */
export function decimalOf(unscaledValue: bigint, scale: number, digits: number | null): string {
  const sign = unscaledValue < 0n ? '-' : '';
  const figures = String(unscaledValue < 0n ? -unscaledValue : unscaledValue).padStart(scale + 1, '0');
  const whole = figures.slice(0, figures.length - scale);
  const fraction = scale === 0 ? '' : figures.slice(-scale);
  const plain = fraction.replace(/0+$/, '');
  const shown = digits === null ? plain : plain.padEnd(digits, '0');
  return `${sign}${whole}${shown === '' ? '' : `.${shown}`}`;
}

/** Counts the fraction digits of a decimal. */
export function fractionDigitsOf(text: string): number {
  const point = text.indexOf('.');
  return point === -1 ? 0 : text.length - point - 1;
}
