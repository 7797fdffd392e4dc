/**
 * The stored data as a Market Data Service serves it: every method returns JSON text that PostgreSQL wrote.
 */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import type { CandleSeries, HistorySeries } from '../../contract/series.ts';
import { isHypertable } from '../timescale/extension.ts';
import { candlesJson, type VisibleRange } from './candles.ts';
import { historyJson } from './history.ts';
import { listQueries } from './lists.ts';

/**
 * Reads through the pool, which may belong to a read-only role. Answers show the newest committed state: the
 * time of a request decides only which periods have ended.
 */
export async function storedMarketData(pool: pg.Pool) {
  const timescale = await isHypertable(pool, 'candle_points');
  return {
    ...listQueries(pool),
    candles: (series: CandleSeries, range: VisibleRange, nowMs: EpochMs) =>
      candlesJson(pool, timescale, series, range, nowMs),
    assetHistory: (series: HistorySeries, range: VisibleRange, nowMs: EpochMs) =>
      historyJson(pool, series, range, nowMs),
  };
}
