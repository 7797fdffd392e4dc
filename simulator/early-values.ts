/** Points that are first given with other values than their final ones, by the share that the faults say. */

import type { DecimalText } from '../contract/decimal.ts';
import { type EpochMs, intervalMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import { type CandleSeries, type HistorySeries, seriesName } from '../contract/series.ts';
import { fixedText } from './digits.ts';
import type { Faults } from './faults.ts';
import { streamKey, uniformAt } from './hash.ts';
import type { Simulator } from './simulator.ts';

/**
 * The same data and truth, with some points that change long after their period has ended, as `reviseRate` and
 * `reviseAfterMs` say at the time. Which ones is a matter of seed, series and period alone. Each interval is revised
 * for itself: an hour that is revised is then no longer the sum of its minutes.
 */
export function withEarlyValues(
  simulator: Simulator,
  seed: string,
  faults: () => Faults,
  now: () => EpochMs,
): Simulator {
  const { truth } = simulator;

  /** The rows as of a time, with `lowered` in place of those that have not been revised yet. */
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

/** Nothing stays nothing. */
function hundredthLess(amount: DecimalText): DecimalText {
  return fixedText((BigInt(amount.replace('.', '')) * 99n) / 100n);
}
