/** Points that have a provisional value until some time after their period, as a fault. */

import type { DecimalText } from '../../contract/decimal.ts';
import { type EpochMs, intervalMs } from '../../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../../contract/resources.ts';
import { type CandleSeries, type HistorySeries, seriesName } from '../../contract/series.ts';
import { fixedText } from '../digits.ts';
import { streamKey, uniformAt } from '../hash.ts';
import type { Faults } from './faults.ts';

/**
 * Gives a share `reviseRate` of points a provisional value until `reviseAfterMs` after their period. Seed, series and period
 * determine these points. Each interval is revised independently, so a revised hour is no longer the sum of its minutes.
 */
export class EarlyValues {
  readonly #seed: string;
  readonly #faults: () => Pick<Faults, 'reviseRate' | 'reviseAfterMs'>;

  constructor(seed: string, faults: () => Pick<Faults, 'reviseRate' | 'reviseAfterMs'>) {
    this.#seed = seed;
    this.#faults = faults;
  }

  candles(series: CandleSeries, rows: Candle[], asOfMs: EpochMs): Candle[] {
    const isEarly = this.#test(series, asOfMs);
    return rows.map((row) => (isEarly(row.period) ? { ...row, volume: hundredthLess(row.volume) } : row));
  }

  history(series: HistorySeries, rows: HistoryPoint[], asOfMs: EpochMs): HistoryPoint[] {
    const isEarly = this.#test(series, asOfMs);
    return rows.map((row) => (isEarly(row.time) ? { ...row, priceUsd: hundredthLess(row.priceUsd) } : row));
  }

  /** Whether the point at a time has its provisional value as of `asOfMs`. */
  #test(series: CandleSeries | HistorySeries, asOfMs: EpochMs): (timeMs: EpochMs) => boolean {
    const { reviseRate, reviseAfterMs } = this.#faults();
    if (reviseRate === 0) return () => false;
    const lengthMs = intervalMs[series.interval];
    const key = streamKey(this.#seed, 'revisions', seriesName(series));
    return (timeMs) =>
      asOfMs < timeMs + lengthMs + reviseAfterMs && uniformAt(key, timeMs / lengthMs) < reviseRate;
  }
}

/** Zero stays zero. */
function hundredthLess(amount: DecimalText): DecimalText {
  return fixedText((BigInt(amount.replace('.', '')) * 99n) / 100n);
}
