/** The indicators again, naive and in doubles, to compare the database's exact ones with. */

export type Figures = readonly (number | null)[];

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
export const mean = (values: readonly number[]) => sum(values) / values.length;
const squares = (values: readonly number[]) => {
  const center = mean(values);
  return sum(values.map((value) => (value - center) ** 2));
};
export const sampleDeviation = (values: readonly number[]) =>
  Math.sqrt(squares(values) / (values.length - 1));

/** The last `periods` values at each place; null where there are fewer, or one of them is null. */
export function rolling(
  values: Figures,
  periods: number,
  of: (window: readonly number[]) => number,
): Figures {
  return values.map((_, place) => {
    const window = values.slice(Math.max(0, place - periods + 1), place + 1);
    const numbers = window.filter((value) => value !== null);
    return numbers.length === periods ? of(numbers) : null;
  });
}

export function ema(prices: readonly number[], periods: number): Figures {
  let average = Number.NaN;
  return prices.map((price, place) => {
    if (place < periods - 1) return null;
    average =
      place === periods - 1
        ? mean(prices.slice(0, periods))
        : average + (price - average) * (2 / (periods + 1));
    return average;
  });
}

export function rsi(prices: readonly number[], periods: number): Figures {
  const changes = prices.slice(1).map((price, place) => price - (prices[place] ?? Number.NaN));
  const smoothed = (values: readonly number[]) => {
    let average = Number.NaN;
    return values.map((value, place) => {
      if (place < periods - 1) return Number.NaN;
      average =
        place === periods - 1 ? mean(values.slice(0, periods)) : (average * (periods - 1) + value) / periods;
      return average;
    });
  };
  const gains = smoothed(changes.map((change) => Math.max(change, 0)));
  const losses = smoothed(changes.map((change) => Math.max(-change, 0)));
  return prices.map((_, place) => {
    if (place < periods) return null;
    const gain = gains[place - 1] ?? Number.NaN;
    return 100 - 100 / (1 + gain / (losses[place - 1] ?? Number.NaN));
  });
}

export function correlation(
  x: readonly number[],
  y: readonly number[],
): { correlation: number; beta: number } {
  const [left, right] = [mean(x), mean(y)];
  const together = sum(x.map((value, place) => (value - left) * ((y[place] ?? Number.NaN) - right)));
  return { correlation: together / Math.sqrt(squares(x) * squares(y)), beta: together / squares(y) };
}
