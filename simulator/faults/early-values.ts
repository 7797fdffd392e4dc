/** Points that have a provisional value until some time after their period, as a fault. */

import type { DecimalText } from '../../contract/decimal.ts';
import { type EpochMs, intervalMs } from '../../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../../contract/resources.ts';
import { type CandleSeries, type HistorySeries, seriesName } from '../../contract/series.ts';
import { fixedText } from '../digits.ts';
import { streamKey, uniformAt } from '../hash.ts';
import type { Simulator } from '../simulator.ts';
import type { Faults } from './faults.ts';

/**
 * Gives a share `reviseRate` of points a provisional value until `reviseAfterMs` after their period. Seed, series and period
 * determine these points. Each interval is revised independently, so a revised hour is no longer the sum of its minutes.
 */
export function withEarlyValues(
  simulator: Simulator,
  seed: string,
  faults: () => Faults,
  now: () => EpochMs,
): Simulator {
  const { truth } = simulator;

  /** The rows as of a time, with `lowered` applied to provisional ones. */
  function asOf<Row>(
    rows: Row[],
    series: CandleSeries | HistorySeries,
    asOfMs: EpochMs,
    { timeOf, lowered }: { timeOf: (row: Row) => EpochMs; lowered: (row: Row) => Row },
  ): Row[] {
    const { reviseRate, reviseAfterMs } = faults();
    if (reviseRate === 0) return rows;
    const lengthMs = intervalMs[series.interval];
    const key = streamKey(seed, 'revisions', seriesName(series));
    return rows.map((row) => {
      const startMs = timeOf(row);
      const isEarly = asOfMs < startMs + lengthMs + reviseAfterMs;
      return isEarly && uniformAt(key, startMs / lengthMs) < reviseRate ? lowered(row) : row;
    });
  }
  const candles = (rows: Candle[], series: CandleSeries, asOfMs: EpochMs) =>
    asOf(rows, series, asOfMs, {
      timeOf: ({ period }) => period,
      lowered: (row) => ({ ...row, volume: hundredthLess(row.volume) }),
    });
  const points = (rows: HistoryPoint[], series: HistorySeries, asOfMs: EpochMs) =>
    asOf(rows, series, asOfMs, {
      timeOf: ({ time }) => time,
      lowered: (row) => ({ ...row, priceUsd: hundredthLess(row.priceUsd) }),
    });

  return {
    ...simulator,
    async candles(series, range, nowMs) {
      const rows = await simulator.candles(series, range, nowMs);
      return rows && candles(rows, series, nowMs);
    },
    async assetHistory(series, range, nowMs) {
      const rows = await simulator.assetHistory(series, range, nowMs);
      return rows && points(rows, series, nowMs);
    },
    truth: {
      ...truth,
      candles: (series, range, asOfMs = now()) =>
        candles(truth.candles(series, range, asOfMs), series, asOfMs),
      history: (series, range, asOfMs = now()) =>
        points(truth.history(series, range, asOfMs), series, asOfMs),
    },
  };
}

/** Zero stays zero. */
function hundredthLess(amount: DecimalText): DecimalText {
  return fixedText((BigInt(amount.replace('.', '')) * 99n) / 100n);
}
