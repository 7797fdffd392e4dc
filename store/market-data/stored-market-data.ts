/**
 * The stored data as a Market Data Service serves it: every method returns JSON text that PostgreSQL wrote.
 */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import type { SeriesKey, TimeRange } from '../../contract/series.ts';
import { isHypertable } from '../timescale/extension.ts';
import { listQueries } from './lists.ts';
import { seriesJson } from './series.ts';

/**
 * Reads through the pool, which may belong to a read-only role. Answers show the newest committed state: the
 * time of a request decides only which periods have ended.
 */
export async function storedMarketData(pool: pg.Pool) {
  const timescale = await isHypertable(pool, 'candle_points');
  const series = (key: SeriesKey, range: TimeRange, nowMs: EpochMs) =>
    seriesJson(pool, timescale, key, range, nowMs);
  return { ...listQueries(pool), candles: series, assetHistory: series };
}
