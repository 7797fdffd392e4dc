/** Windows of candles and histories, committed as a worker does. */

import { decimalText } from '../../contract/decimal.ts';
import { type EpochMs, intervalMs, minuteMs } from '../../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../../contract/resources.ts';
import type { SeriesKey } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import { commitWindow } from '../../store/commit/commit-windows.ts';
import type { WindowCommit, WindowResult } from '../../store/commit/prepare-window.ts';
import type { Database } from '../../store/db/database.ts';

/** A value that identifies its time, with more digits than a double holds. */
export function closeAt(timeMs: EpochMs): string {
  return `${timeMs}.1234567890123450`;
}

/** Every point of the window, with some values replaced. */
export function pointsOf(
  series: SeriesKey,
  window: Range,
  changed: ReadonlyMap<EpochMs, string> = new Map(),
) {
  const times: EpochMs[] = [];
  for (let at = window.startMs; at < window.endMs; at += intervalMs[series.interval]) times.push(at);
  return times.map((timeMs): Candle | HistoryPoint => {
    const value = decimalText(changed.get(timeMs) ?? closeAt(timeMs));
    return series.dataset === 'candles'
      ? { open: value, high: value, low: value, close: value, volume: value, period: timeMs }
      : { time: timeMs, priceUsd: value };
  });
}

/** Commits a window whose answer has all its points. */
export function commitPoints(
  database: Database,
  of: { seriesId: number; series: SeriesKey; window: Range; changed?: ReadonlyMap<EpochMs, string> },
): Promise<WindowResult> {
  const nowMs = Date.now();
  const rows = pointsOf(of.series, of.window, of.changed);
  return commitWindow(database, {
    seriesId: of.seriesId,
    series: of.series,
    window: of.window,
    lane: 'backfill',
    attempt: 1,
    answer: { rows, rejected: [], sourceTimeMs: nowMs, status: 200, bytes: 1, durationMs: 1 },
    nowMs,
    graceMs: minuteMs,
    emptyConfirmMs: minuteMs,
  } as WindowCommit);
}

/** Every stored value of a series, as text by time. */
export async function storedPoints(
  database: Database,
  of: { seriesId: number; series: SeriesKey },
): Promise<Map<EpochMs, string>> {
  const [table, column] =
    of.series.dataset === 'candles' ? ['candle_points', 'close'] : ['asset_history_points', 'price_usd'];
  const result = await database.pool.query<{ time: EpochMs; value: string }>(
    `select time, ${column}::text as value from tidemark.${table} where series_id = $1 order by time`,
    [of.seriesId],
  );
  return new Map(result.rows.map((row) => [row.time, row.value]));
}
