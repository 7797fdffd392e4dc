/** Plans of four million windows in a database. */

import { dayMs, type EpochMs } from '../../model/intervals.ts';
import { longestRangeMs } from '../../model/request-range.ts';
import type { Database } from '../../store/db/database.ts';
import { trackSeries } from '../../store/series/series.ts';

export const years = 11;

export interface TrackedPlan {
  readonly series: number;
  /** Requests that fill the whole plan. */
  readonly windows: number;
}

/** Tracks this many one-minute series over eleven years up to now, without coverage. */
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
  return { series, windows: series * Math.ceil((nowMs - fromMs) / longestRangeMs.m1) };
}

/** Covers every second range of each series, so that it has `gaps` gaps: a fragmented store. */
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
