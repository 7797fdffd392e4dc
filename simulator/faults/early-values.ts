/** Points that have a provisional value until some time after their period, as a fault. */

import type { DecimalText } from '../../model/decimal.ts';
import { type EpochMs, intervalMs } from '../../model/intervals.ts';
import { type CandleSeries, type HistorySeries, type SeriesKey, seriesName } from '../../model/series.ts';
import type { Candle, HistoryPoint } from '../../v2/resources.ts';
import { fixedText } from '../digits.ts';
import { streamKey, uniformAt } from '../hash.ts';
import type { Faults } from './faults.ts';

/**
 * Gives a share `reviseRate` of points a provisional value until `reviseAfterMs` after their period. Seed, series and
 * period determine these points. Each interval is revised independently, so a revised hour is no longer the sum of its
 * minutes.
 */
export function earlyValues(seed: string, faults: () => Pick<Faults, 'reviseRate' | 'reviseAfterMs'>) {
  /** Whether the point at a time has its provisional value as of `asOfMs`. */
  function test(series: SeriesKey, asOfMs: EpochMs): (timeMs: EpochMs) => boolean {
    const { reviseRate, reviseAfterMs } = faults();
    if (reviseRate === 0) return () => false;
    const lengthMs = intervalMs[series.interval];
    const key = streamKey(seed, 'revisions', seriesName(series));
    return (timeMs) => asOfMs < timeMs + lengthMs + reviseAfterMs && uniformAt(key, timeMs / lengthMs) < reviseRate;
  }
  return {
    candles(series: CandleSeries, rows: Candle[], asOfMs: EpochMs): Candle[] {
      const isEarly = test(series, asOfMs);
      return rows.map((row) => (isEarly(row.period) ? { ...row, volume: hundredthLess(row.volume) } : row));
    },
    history(series: HistorySeries, rows: HistoryPoint[], asOfMs: EpochMs): HistoryPoint[] {
      const isEarly = test(series, asOfMs);
      return rows.map((row) => (isEarly(row.time) ? { ...row, priceUsd: hundredthLess(row.priceUsd) } : row));
    },
  };
}

/** Zero stays zero. */
function hundredthLess(amount: DecimalText): DecimalText {
  return fixedText((BigInt(amount.replace('.', '')) * 99n) / 100n);
}
