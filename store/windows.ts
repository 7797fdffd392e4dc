/**
 * The commit of a window: points, revisions, quarantine, ledger and coverage in one transaction. After a crash at
 * any instant the window is either wholly there or still a gap.
 */

import { type EpochMs, intervalMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { CandleSeries, HistorySeries, SeriesKey } from '../contract/series.ts';
import { closedUpTo } from '../planning/closed.ts';
import type { Range } from '../planning/ranges.ts';
import { judge, type Verdict } from '../planning/verdict.ts';
import type { Lane } from '../planning/windows.ts';
import { recordCoverage } from './coverage.ts';
import { type Database, inTransaction } from './database.ts';
import {
  candleColumns,
  historyColumns,
  type PointChanges,
  type PointColumns,
  writePoints,
} from './points.ts';
import { quarantineRows, type RejectedRow } from './quarantine.ts';
import { lockedMostRows, standingOf } from './standing.ts';

/** A 200 answer as the source's client read it. */
export interface WindowAnswer<Row> {
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
  /** The answer's `timestamp`; null when it had none. */
  readonly sourceTimeMs: EpochMs | null;
  readonly status: number;
  readonly bytes: number;
  readonly durationMs: number;
}

export interface Commit<Key extends SeriesKey, Row> {
  readonly seriesId: number;
  readonly series: Key;
  readonly window: Range;
  readonly lane: Lane;
  readonly attempt: number;
  readonly answer: WindowAnswer<Row>;
  /** When the answer came. */
  readonly nowMs: EpochMs;
  readonly graceMs: number;
  /** Time between two empty answers that agree, for the window to be taken as empty. */
  readonly emptyConfirmMs: number;
}

export type WindowCommit = Commit<CandleSeries, Candle> | Commit<HistorySeries, HistoryPoint>;

export interface WindowResult extends PointChanges {
  readonly verdict: Verdict | 'confirmed_empty';
  readonly covered: Range | null;
  /** Points of the answer outside the window or given twice, which were dropped. */
  readonly dropped: number;
}

/** Commits what one request of a window brought. */
export async function commitWindow(database: Database, commit: WindowCommit): Promise<WindowResult> {
  const { window, answer, nowMs } = commit;
  const points = pointsOf(commit);
  const dropped = answer.rows.length - points.timesMs.length;
  // Without a timestamp of its own, an answer knows no more than what there was when it was asked for.
  const sourceTimeMs = Math.min(nowMs, answer.sourceTimeMs ?? nowMs - answer.durationMs);
  const judged = {
    window,
    interval: commit.series.interval,
    timesMs: points.timesMs,
    rejected: answer.rejected.length + strangers(commit),
    closedUpToMs: closedUpTo(commit.series, nowMs, commit.graceMs),
    answeredUpToMs: closedUpTo(commit.series, sourceTimeMs, 0),
  };
  for (;;) {
    const attempt = inTransaction(database, async (client): Promise<WindowResult> => {
      const { holdsAny, mostRows } = await standingOf(client, commit);
      const changes = await writePoints(client, commit.seriesId, window, points, {
        holdsAny,
        seenAtMs: nowMs,
      });
      if (changes === null) throw new LostRace();
      await quarantineRows(client, {
        ...commit,
        dataset: commit.series.dataset,
        rows: answer.rejected,
        seenAtMs: nowMs,
      });
      const rows = answer.rows.length + answer.rejected.length;
      let judgement = judge({ ...judged, mostRows: Math.max(rows, mostRows) });
      if (judgement.verdict !== 'filled') {
        // Any other verdict looks at what the series' other windows brought, up to this moment.
        judgement = judge({ ...judged, mostRows: Math.max(rows, await lockedMostRows(client, commit)) });
      }
      const recorded = await recordCoverage(client, commit, judgement, points, changes, (verdict) => ({
        timeMs: nowMs,
        dataset: commit.series.dataset,
        seriesId: commit.seriesId,
        range: window,
        lane: commit.lane,
        attempt: commit.attempt,
        verdict,
        status: answer.status,
        ...changes,
        rejected: answer.rejected.length,
        bytes: answer.bytes,
        durationMs: answer.durationMs,
        error: null,
      }));
      return { ...changes, ...recorded, dropped };
    });
    try {
      return await attempt;
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
    }
  }
}

/** Rows more than a period outside the window: an answer of nothing else is no answer to what was asked. */
function strangers(commit: WindowCommit): number {
  const slackMs = intervalMs[commit.series.interval];
  const { startMs, endMs } = commit.window;
  const times = commit.answer.rows.map((row) => ('period' in row ? row.period : row.time));
  return times.filter((timeMs) => timeMs < startMs - slackMs || timeMs >= endMs + slackMs).length;
}

/** Another transaction stored some of the same points meanwhile; the next attempt sees them. */
class LostRace extends Error {}

/** The answer's points within the window, ascending, the last of a duplicate winning, as columns. */
function pointsOf(commit: WindowCommit): PointColumns {
  const { window } = commit;
  return commit.series.dataset === 'candles'
    ? candleColumns(
        inOrder((commit as Commit<CandleSeries, Candle>).answer.rows, (row) => row.period, window),
      )
    : historyColumns(
        inOrder((commit as Commit<HistorySeries, HistoryPoint>).answer.rows, (row) => row.time, window),
      );
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
