/** Candles as columns of whole numbers, for computing and aggregating. */

/** `open` is 0 when there is no candle. Prices are in the market's price units, volumes in its volume units. */
export interface Columns {
  readonly open: Float64Array;
  readonly high: Float64Array;
  readonly low: Float64Array;
  readonly close: Float64Array;
  readonly volume: Float64Array;
  /** Digits of the volumes below their units; see `digits.ts`. */
  readonly tail: Float64Array;
}

export function columns(length: number): Columns {
  return {
    open: new Float64Array(length),
    high: new Float64Array(length),
    low: new Float64Array(length),
    close: new Float64Array(length),
    volume: new Float64Array(length),
    tail: new Float64Array(length),
  };
}

/** Digits of a volume's tail. */
export const volumeTailDigits = 8;
const tailLimit = 1e8;

/**
 * Merges the candles `[from, to)` into one at `into[at]`: first open, highest high, lowest low, last close, summed
 * volume. Without any candle, `into.open[at]` becomes 0.
 */
export function aggregate(source: Columns, from: number, to: number, into: Columns, at: number): void {
  let open = 0;
  let high = 0;
  let low = Number.POSITIVE_INFINITY;
  let close = 0;
  let volume = 0;
  let tail = 0;
  for (let index = from; index < to; index++) {
    const opened = source.open[index] as number;
    if (opened === 0) continue;
    if (open === 0) open = opened;
    const highest = source.high[index] as number;
    const lowest = source.low[index] as number;
    if (highest > high) high = highest;
    if (lowest < low) low = lowest;
    close = source.close[index] as number;
    volume += source.volume[index] as number;
    tail += source.tail[index] as number;
  }
  const carried = Math.floor(tail / tailLimit);
  into.open[at] = open;
  into.high[at] = high;
  into.low[at] = low;
  into.close[at] = close;
  into.volume[at] = volume + carried;
  into.tail[at] = tail - carried * tailLimit;
}

/** Copies one candle. */
export function copyCandle(source: Columns, index: number, into: Columns, at: number): void {
  into.open[at] = source.open[index] as number;
  into.high[at] = source.high[index] as number;
  into.low[at] = source.low[index] as number;
  into.close[at] = source.close[index] as number;
  into.volume[at] = source.volume[index] as number;
  into.tail[at] = source.tail[index] as number;
}
