import type { Candle } from '../contract/resources.ts';
import type { CandleSeries } from '../contract/series.ts';
import type { Window } from '../planning/windows.ts';
import type { WindowAnswer } from '../store/windows.ts';
import { wholeAnswer } from './whole-answer.ts';
import type { Work, WorkParts } from './work.ts';

/** One window of candles: one request of `/candles`. */
export function candlesWork(
  window: Window,
  series: CandleSeries,
  parts: WorkParts,
): Work<WindowAnswer<Candle>> {
  const { exchange, interval, baseId, quoteId } = series;
  return {
    dataset: series.dataset,
    lane: window.lane,
    window,
    async fetch() {
      const bounds = { start: window.startMs, end: window.endMs };
      const answer = await parts.source.candles({ exchange, interval, baseId, quoteId, ...bounds });
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
