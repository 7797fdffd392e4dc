/** The median and the range of several measurements, and their text. */

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** @throws RangeError when there are no values. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const least = sorted[0];
  const most = sorted.at(-1);
  if (least === undefined || most === undefined) throw new RangeError('no measurement');
  const middle = (sorted.length - 1) / 2;
  const median = ((sorted[Math.floor(middle)] ?? least) + (sorted[Math.ceil(middle)] ?? most)) / 2;
  return { median, least, most };
}

/** `12,345 (11,900 to 12,800)`: the median, and the range of all values. */
export function told({ median, least, most }: Spread, fractionDigits = 0): string {
  const [middle, low, high] = [median, least, most].map((value) => figure(value, fractionDigits));
  return `${middle} (${low} to ${high})`;
}

export function figure(value: number, fractionDigits = 0): string {
  return value.toLocaleString('en-US', {
    minimumFractionDigits: fractionDigits,
    maximumFractionDigits: fractionDigits,
  });
}
