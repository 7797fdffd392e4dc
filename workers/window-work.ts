/** The work of a window: one request for its points, then the commit. Datasets differ in the request alone. */

import { periodStart } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { SeriesKey } from '../contract/series.ts';
import { overlaps, type Range } from '../planning/ranges.ts';
import type { Window } from '../planning/windows.ts';
import type { Source } from '../source/source.ts';
import { SourceError } from '../source/source-error.ts';
import { commitProbe } from '../store/commit/commit-probe.ts';
import type { WindowAnswer, WindowCommit } from '../store/commit/prepare-window.ts';
import type { Work, WorkParts } from './work.ts';

type Answer = WindowAnswer<Candle | HistoryPoint>;

/** Whether this version knows the window's dataset. A newer version may have queued the job. */
export function isKnownDataset(series: SeriesKey): boolean {
  return series.dataset === 'candles' || series.dataset === 'asset_history';
}

/** One window: one request of `/candles` or `/assets/{id}/history`. */
export function windowWork(window: Window, parts: WorkParts): Work<Answer> {
  const { series, seriesId, lane } = window;
  return {
    dataset: series.dataset,
    lane,
    window,
    async fetch() {
      const answer = await requestPoints(parts.source, series, window.requested ?? window);
      return window.run === undefined ? answer : assertWhole(answer, window);
    },
    commit: (answer, { number, nowMs }) =>
      parts.commitWindow({
        seriesId,
        series,
        window,
        lane,
        attempt: number,
        answer,
        nowMs,
        graceMs: parts.graceMs,
        emptyConfirmMs: parts.emptyConfirmMs,
      } as WindowCommit),
  };
}

/** A probe for the beginning of a series: one request for the days of a long range (planning/beginning.ts). */
export function probeWork(window: Window, parts: WorkParts): Work<Answer> {
  const { series, seriesId, lane } = window;
  return {
    dataset: series.dataset,
    lane,
    window,
    async fetch() {
      // The day that contains the start begins before it.
      const days = { startMs: periodStart(window.startMs, 'd1'), endMs: window.endMs };
      return assertWhole(await requestPoints(parts.source, { ...series, interval: 'd1' }, days), window);
    },
    async commit({ rows, ...answer }, attempt) {
      const result = await parts.commitSlot(() =>
        commitProbe(parts.database, {
          seriesId,
          series,
          window,
          answer,
          attempt: attempt.number,
          nowMs: attempt.nowMs,
          timesMs: rows.map((row) => ('period' in row ? row.period : row.time)),
          graceMs: parts.graceMs,
          emptyConfirmMs: parts.emptyConfirmMs,
        }),
      );
      if (result.doubt === null) return result;
      const { status, bytes, durationMs } = answer;
      const message = `a request by days for where the series begins: ${result.doubt}`;
      throw new SourceError({ kind: 'unexpected', message, status, bytes, durationMs });
    },
  };
}

function requestPoints(source: Source, series: SeriesKey, range: Range): Promise<Answer> {
  const bounds = { start: range.startMs, end: range.endMs };
  if (series.dataset === 'asset_history')
    return source.assetHistory(series.assetId, { interval: series.interval, ...bounds });
  const { exchange, interval, baseId, quoteId } = series;
  return source.candles({ exchange, interval, baseId, quoteId, ...bounds });
}

/**
 * Refuses an answer whose source states that it lacks a part of the range. A comparison would take that part for a
 * difference, and a probe for the time before the series begins.
 *
 * @throws SourceError `incomplete`.
 */
export function assertWhole<Answer extends WindowAnswer<unknown>>(answer: Answer, range: Range): Answer {
  const { known, status, bytes, durationMs } = answer;
  const missing = known?.missing.find((part) => overlaps(part, range));
  if (missing === undefined) return answer;
  const text = (timeMs: number) => new Date(Math.max(timeMs, 0)).toISOString();
  const requested = `${text(range.startMs)} to ${text(range.endMs)}`;
  throw new SourceError({
    kind: 'incomplete',
    message: `of ${requested} the source says that it does not have ${text(missing.startMs)} to ${text(missing.endMs)} itself`,
    status,
    bytes,
    durationMs,
  });
}
