/** A probe for where a series begins: one request for the days of a long range (planning/beginning.ts). */

import { periodStart } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { Window } from '../planning/windows.ts';
import { SourceError } from '../source/source-error.ts';
import { commitProbe } from '../store/beginning.ts';
import type { WindowAnswer } from '../store/windows.ts';
import { wholeAnswer } from './whole-answer.ts';
import type { Work, WorkParts } from './work.ts';

export function probeWork(window: Window, parts: WorkParts): Work<WindowAnswer<Candle | HistoryPoint>> {
  const { series, seriesId } = window;
  return {
    dataset: series.dataset,
    lane: window.lane,
    window,
    fetch: async () => wholeAnswer(await askByDays(window, parts), window),
    async commit({ rows, ...answer }, attempt) {
      const result = await parts.commitSlot(() =>
        commitProbe(parts.database, {
          ...{ seriesId, series, window, answer, attempt: attempt.number, nowMs: attempt.nowMs },
          timesMs: rows.map((row) => ('period' in row ? row.period : row.time)),
          ...{ graceMs: parts.graceMs, emptyConfirmMs: parts.emptyConfirmMs },
        }),
      );
      if (result.doubt === null) return result;
      throw new SourceError({
        kind: 'unexpected',
        message: `a request by days for where the series begins: ${result.doubt}`,
        status: answer.status,
        bytes: answer.bytes,
        durationMs: answer.durationMs,
      });
    },
  };
}

function askByDays(
  { series, startMs, endMs }: Window,
  { source }: WorkParts,
): Promise<WindowAnswer<Candle | HistoryPoint>> {
  // The day that holds the start begins before it.
  const bounds = { interval: 'd1' as const, start: periodStart(startMs, 'd1'), end: endMs };
  if (series.dataset === 'asset_history') return source.assetHistory(series.assetId, bounds);
  const { exchange, baseId, quoteId } = series;
  return source.candles({ exchange, baseId, quoteId, ...bounds });
}
