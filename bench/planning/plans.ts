/** Plans of four million windows, as a database holds them. */

import { dayMs, type EpochMs } from '../../contract/intervals.ts';
import { longestCandleRangeMs } from '../../contract/limits.ts';
import type { Database } from '../../store/database.ts';
import { trackSeries } from '../../store/series.ts';

export const years = 11;

export interface TrackedPlan {
  readonly series: number;
  /** Requests that it takes to fill all of it. */
  readonly windows: number;
}

/** Tracks as many one-minute series over eleven years up to the present; nothing of them is covered. */
export async function trackPlan(database: Database, series: number, nowMs: EpochMs): Promise<TrackedPlan> {
  const fromMs = nowMs - Math.round(years * 365.25) * dayMs;
  for (let number = 1; number <= series; number += 1) {
    await trackSeries(
      database,
      { dataset: 'candles', exchange: 'bench', baseId: `coin-${number}`, quoteId: 'tether', interval: 'm1' },
      fromMs,
      null,
    );
  }
  return { series, windows: series * Math.ceil((nowMs - fromMs) / longestCandleRangeMs.m1) };
}

/** Covers every second stretch of each series, so that `gaps` gaps are left of each: a store with scars. */
export async function scar(database: Database, gaps: number): Promise<void> {
  await database.pool.query(
    `update tidemark.series s set covered = (
       select range_agg(tstzrange(lower(s.tracked) + (place + 0.5) * stretch, lower(s.tracked) + (place + 1) * stretch))
       from generate_series(0, $1::int - 1) place,
            (select (now() - lower(s.tracked)) / $1::int as stretch) length
     )`,
    [gaps],
  );
}
