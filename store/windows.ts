/**
 * The commit of windows: points, revisions, quarantine, ledger and coverage in one transaction. After a crash at
 * any instant a window is either wholly there or still a gap.
 */

import type { EpochMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import type { CandleSeries, HistorySeries, SeriesKey } from '../contract/series.ts';
import type { Known } from '../planning/known-part.ts';
import type { Range } from '../planning/ranges.ts';
import type { Verdict } from '../planning/verdict.ts';
import type { Lane, Window } from '../planning/windows.ts';
import { noteEmptyAnswers } from './confirmed-empty.ts';
import { recordCoverage } from './coverage.ts';
import { type Database, inTransaction } from './database.ts';
import { judgeAll, type Written } from './judged.ts';
import { copyPoints, mergePoints, noChanges, type PointChanges } from './points.ts';
import { type PreparedWindow, prepareWindow } from './prepared.ts';
import { quarantineRows, type RejectedRow } from './quarantine.ts';
import { markReread } from './reread.ts';
import { countRevised } from './revised.ts';
import { mayHold } from './standing.ts';
import { settleRepairs } from './verification.ts';

/** A 200 answer as the source's client read it. */
export interface WindowAnswer<Row> {
  readonly rows: readonly Row[];
  readonly rejected: readonly RejectedRow[];
  /** The answer's `timestamp`; null when it had none. */
  readonly sourceTimeMs: EpochMs | null;
  /** What the source says that it knows itself; null or absent: it does not say. */
  readonly known?: Known | null;
  readonly status: number;
  readonly bytes: number;
  readonly durationMs: number;
}

export interface Commit<Key extends SeriesKey, Row> {
  readonly seriesId: number;
  readonly series: Key;
  readonly window: Range & Pick<Window, 'run' | 'askedEndMs' | 'roundMs'>;
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
  return only(await commitWindows(database, [prepareWindow(commit)]));
}

/**
 * Commits what the requests of some windows brought, all in one transaction.
 *
 * @returns what became of each, in the same order.
 * @throws LostRace when points of several windows are stored meanwhile, or given twice among them: each has to be
 * committed alone, which finds them.
 */
export async function commitWindows(
  database: Database,
  windows: readonly PreparedWindow[],
): Promise<WindowResult[]> {
  if (windows.length === 0) return [];
  try {
    return await commitTogether(database, windows, 'copy');
  } catch (error) {
    const [only, another] = windows;
    if (!(error instanceof LostRace) || only === undefined || another !== undefined) throw error;
    return [await mergeAlone(database, only)];
  }
}

/** As often as it takes: each attempt sees what won over the one before. */
async function mergeAlone(database: Database, window: PreparedWindow): Promise<WindowResult> {
  for (;;) {
    try {
      return only(await commitTogether(database, [window], 'merge'));
    } catch (error) {
      if (!(error instanceof LostRace)) throw error;
    }
  }
}

function only(results: readonly WindowResult[]): WindowResult {
  const [result] = results;
  if (result === undefined) throw new Error('a commit without a result');
  return result;
}

/** @param how whether windows that seem to hold nothing yet are copied, or merged as the others. */
async function commitTogether(
  database: Database,
  windows: readonly PreparedWindow[],
  how: 'copy' | 'merge',
): Promise<WindowResult[]> {
  return inTransaction(database, async (client) => {
    const held = how === 'merge' ? [] : await mayHold(client, windows);
    const isCopied = windows.map((_, place) => held[place] === false);
    if (
      !(await copyPoints(
        client,
        windows.filter((_, place) => isCopied[place]),
      ))
    )
      throw new LostRace();
    const written: Written[] = [];
    for (const [place, window] of windows.entries()) {
      const changes = isCopied[place]
        ? { ...noChanges, fresh: window.points.timesMs.length }
        : await mergePoints(client, window, window.nowMs);
      if (changes === null) throw new LostRace();
      written.push({ ...window, changes });
      await quarantineRows(client, {
        ...window,
        dataset: window.series.dataset,
        rows: window.answer.rejected,
        seenAtMs: window.nowMs,
      });
    }
    const recorded = await recordCoverage(client, await judgeAll(client, written));
    await markReread(client, recorded);
    await countRevised(client, recorded);
    await noteEmptyAnswers(client, recorded);
    await settleRepairs(client, recorded);
    return recorded.map(({ changes, verdict, covered, dropped }) => ({
      ...changes,
      verdict,
      covered,
      dropped,
    }));
  });
}

/** Another transaction stored some of the same points meanwhile; the next attempt sees them. */
class LostRace extends Error {
  constructor() {
    super('the same points came from elsewhere');
  }
}
