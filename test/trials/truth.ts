/** The data of the source in a model run: a point for most periods, and a version of each that a revision raises. */

import { decimalText } from '../../model/decimal.ts';
import { type EpochMs, intervalMs } from '../../model/intervals.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';

/** The values of a point as text, in the order of the table's columns. */
export type Values = readonly string[];

export class Truth {
  readonly series: SeriesKey;
  /** Whether every period has a point. */
  readonly isDense: boolean;
  readonly #versions = new Map<EpochMs, number>();
  /** Trailing zeros of every value: a source may write the same number in another way. */
  readonly #zeros = new Map<EpochMs, number>();

  constructor(series: SeriesKey, isDense: boolean) {
    this.series = series;
    this.isDense = isDense;
  }

  has(timeMs: EpochMs): boolean {
    if (this.isDense) return true;
    const place = timeMs / intervalMs[this.series.interval];
    // Empty ranges of one to eight periods.
    return place % 3 !== 1 && place % 13 < 6;
  }

  revise(timeMs: EpochMs, how: 'value' | 'zeros'): void {
    const table = how === 'value' ? this.#versions : this.#zeros;
    table.set(timeMs, (table.get(timeMs) ?? 0) + 1);
  }

  /**
   * The values at the source at a time: a period that has not ended changes by the second.
   *
   * @param behind the number of versions by which a copy of an older answer is behind.
   */
  valuesAt(timeMs: EpochMs, nowMs: EpochMs, behind = 0): Values {
    const isOpen = timeMs + intervalMs[this.series.interval] > nowMs;
    const version = isOpen
      ? 1000 + (Math.floor(nowMs / 1000) % 1000)
      : Math.max(0, (this.#versions.get(timeMs) ?? 0) - behind);
    const end = `${version}${'0'.repeat(1 + (this.#zeros.get(timeMs) ?? 0))}`;
    // More digits than a double can represent.
    const value = (column: number) => `${(timeMs / 60_000) % 100_003}.12345678901${column}${end}`;
    return this.series.dataset === 'candles' ? [0, 1, 2, 3, 4].map(value) : [value(0)];
  }
}

/** The row of an answer. */
export function rowOf(series: SeriesKey, timeMs: EpochMs, values: Values): Candle | HistoryPoint {
  const texts = values.map(decimalText);
  const [open, high, low, close, volume] = texts;
  if (series.dataset === 'asset_history') return { priceUsd: open ?? decimalText('0'), time: timeMs };
  const none = decimalText('0');
  return {
    open: open ?? none,
    high: high ?? none,
    low: low ?? none,
    close: close ?? none,
    volume: volume ?? none,
    period: timeMs,
  };
}

/** Whether two texts are the same number: other trailing zeros are no change. */
export function areSame(a: Values, b: Values): boolean {
  const bare = (text: string | undefined) => text?.replace(/0+$/, '');
  return a.length === b.length && a.every((text, place) => bare(text) === bare(b[place]));
}
