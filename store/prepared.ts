/** From an answer's rows to what is left of them while the window waits for its commit. */

import { type EpochMs, intervalMs, periodStart } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { CandleSeries, HistorySeries } from '../contract/series.ts';
import { closedUpTo } from '../planning/closed.ts';
import { knownPart } from '../planning/known-part.ts';
import type { Range } from '../planning/ranges.ts';
import { candleLines, historyLines, type PointLines } from './point-lines.ts';
import type { Commit, WindowAnswer, WindowCommit } from './windows.ts';

export interface PreparedWindow extends Omit<WindowCommit, 'answer'> {
  readonly answer: Omit<WindowAnswer<never>, 'rows'>;
  /** What of the window that was asked for the source says that it does not have. `window` is what the answer counts for. */
  readonly missing: readonly Range[];
  /** From here on the source says nothing of what it knows. */
  readonly knownUntilMs: EpochMs;
  /** Rows that the answer had, readable or not. */
  readonly rows: number;
  /** Readable rows outside the window, given twice, or stale, which are dropped. */
  readonly dropped: number;
  /** Readable rows more than a period outside the window: an answer of nothing else is none to what was asked. */
  readonly strangers: number;
  /** Those within the window, ascending, the last of a duplicate winning. */
  readonly points: PointLines;
}

export function prepareWindow(asked: WindowCommit): PreparedWindow {
  const { window, untilMs, missing } = knownPart(
    asked.window,
    asked.series.interval,
    asked.answer.known ?? null,
  );
  const commit = { ...asked, window };
  const { answer, ...facts } = commit;
  const { rows, ...answered } = answer;
  const points = pointsOf(commit, untilMs);
  return {
    ...facts,
    missing,
    knownUntilMs: untilMs,
    answer: answered,
    rows: rows.length + answer.rejected.length,
    dropped: rows.length - points.timesMs.length,
    strangers: strangersOf(asked),
    points,
  };
}

function pointsOf(commit: WindowCommit, untilMs: EpochMs): PointLines {
  const { window, seriesId } = commit;
  if (commit.series.dataset === 'candles') {
    const { rows } = (commit as Commit<CandleSeries, Candle>).answer;
    return candleLines(
      seriesId,
      inOrder(
        notStale(rows, commit, untilMs, (row) => row.period),
        (row) => row.period,
        window,
      ),
    );
  }
  const { rows } = (commit as Commit<HistorySeries, HistoryPoint>).answer;
  return historyLines(
    seriesId,
    inOrder(
      notStale(rows, commit, untilMs, (row) => row.time),
      (row) => row.time,
      window,
    ),
  );
}

/**
 * The rows without those whose period has closed by our clock, and had not by the source's when it answered: in a
 * stale copy of an older answer they are as they were while it ran, and may have come in their final form since. So may
 * one from a source that says that it does not know that period itself yet.
 */
function notStale<Row>(
  rows: readonly Row[],
  { series, answer, nowMs, graceMs }: WindowCommit,
  untilMs: EpochMs,
  timeOf: (row: Row) => EpochMs,
): readonly Row[] {
  const closedMs = closedUpTo(series, nowMs, graceMs);
  const sourceTimeMs = answer.sourceTimeMs ?? nowMs - answer.durationMs;
  const closedThereMs = periodStart(Math.min(sourceTimeMs, untilMs), series.interval);
  if (closedThereMs >= closedMs) return rows;
  return rows.filter((row) => timeOf(row) < closedThereMs || timeOf(row) >= closedMs);
}

function strangersOf({ series, window: { startMs, endMs }, answer }: WindowCommit): number {
  const slackMs = intervalMs[series.interval];
  let count = 0;
  for (const row of answer.rows) {
    const timeMs = 'period' in row ? row.period : row.time;
    if (timeMs < startMs - slackMs || timeMs >= endMs + slackMs) count += 1;
  }
  return count;
}

function inOrder<Row>(rows: readonly Row[], timeOf: (row: Row) => EpochMs, window: Range): readonly Row[] {
  let previous = Number.NEGATIVE_INFINITY;
  const ascending = rows.every((row) => {
    const ordered = timeOf(row) > previous;
    previous = timeOf(row);
    return ordered && previous >= window.startMs && previous < window.endMs;
  });
  if (ascending) return rows;
  const byTime = new Map<EpochMs, Row>();
  for (const row of rows) {
    if (timeOf(row) >= window.startMs && timeOf(row) < window.endMs) byTime.set(timeOf(row), row);
  }
  return [...byTime.values()].sort((a, b) => timeOf(a) - timeOf(b));
}
