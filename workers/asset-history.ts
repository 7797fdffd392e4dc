import type { HistoryPoint } from '../contract/resources.ts';
import type { HistorySeries } from '../contract/series.ts';
import type { Window } from '../planning/windows.ts';
import type { WindowAnswer } from '../store/windows.ts';
import { wholeAnswer } from './whole-answer.ts';
import type { Work, WorkParts } from './work.ts';

/** One window of an asset's history: one request of `/assets/{id}/history`. */
export function assetHistoryWork(
  window: Window,
  series: HistorySeries,
  parts: WorkParts,
): Work<WindowAnswer<HistoryPoint>> {
  const { assetId, interval } = series;
  return {
    dataset: series.dataset,
    lane: window.lane,
    window,
    async fetch() {
      const bounds = { start: window.startMs, end: window.endMs };
      const answer = await parts.source.assetHistory(assetId, { interval, ...bounds });
      return window.run === undefined ? answer : wholeAnswer(answer, window);
    },
    commit: (answer, attempt) =>
      parts.commitWindow({
        seriesId: window.seriesId,
        series,
        window,
        lane: window.lane,
        attempt: attempt.number,
        answer,
        nowMs: attempt.nowMs,
        graceMs: parts.graceMs,
        emptyConfirmMs: parts.emptyConfirmMs,
      }),
  };
}
