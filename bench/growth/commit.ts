/** Commits candles as a worker does. */

import { hourMs } from '../../model/intervals.ts';
import { linesOf, type Point } from '../../model/point-lines.ts';
import type { Range } from '../../model/ranges.ts';
import type { CandleSeries } from '../../model/series.ts';
import { defaultSource } from '../../model/sources.ts';
import type { Database } from '../../store/db/database.ts';
import { commitWindow } from '../../test/store/committing.ts';
import type { Candle } from '../../v2/resources.ts';
import { nowMs } from './load.ts';

interface Filled {
  readonly seriesId: number;
  readonly series: CandleSeries;
  readonly range: Range;
  readonly rows: readonly Candle[];
}

const pointOf = ({ open, high, low, close, volume, period }: Candle): Point => ({
  ...{ timeMs: period, values: [open, high, low, close, volume] },
});

/** @throws Error when the range is not covered to its end afterwards. */
export async function commit(database: Database, { seriesId, series, range, rows }: Filled): Promise<void> {
  const result = await commitWindow(database, {
    window: { seriesId, series, ...range, source: defaultSource, asks: range, lane: 'backfill' },
    attempt: 1,
    answer: {
      rows: linesOf('candles', rows.map(pointOf)),
      rejected: [],
      sourceTimeMs: nowMs,
      status: 200,
      bytes: 0,
      durationMs: 0,
    },
    nowMs,
    rules: { graceMs: 60_000, emptyConfirmMs: hourMs },
  });
  if (result.covered?.endMs !== range.endMs) throw new Error(`not covered to its end: ${JSON.stringify(series)}`);
}
