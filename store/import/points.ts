/**
 * Storing a piece of a file: points, revisions, quarantine and coverage in one transaction, by the code that stores an
 * answer. Killed at any instant, a piece is either wholly there or not at all, and the same file again goes on.
 *
 * A stored value that differs is kept, unless it is to be overwritten: then the old one becomes a revision.
 */

import type { EpochMs } from '../../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../../contract/resources.ts';
import type { CandleSeries, HistorySeries } from '../../contract/series.ts';
import type { Range } from '../../planning/ranges.ts';
import { type Database, inTransaction } from '../database.ts';
import { candleLines, historyLines, type PointLines } from '../point-lines.ts';
import { copyPoints, mergePoints, noChanges, type PointChanges } from '../points.ts';
import { quarantineRows, type RejectedRow } from '../quarantine.ts';
import { mayHold } from '../standing.ts';
import { compareWithFile, type FileComparison, type FileDifference } from './compare.ts';
import { coverByFile, type FileCoverage } from './coverage.ts';

interface Piece extends FileCoverage {
  readonly seriesId: number;
  /** Holds all of the rows, and all that is covered. */
  readonly window: Range;
  readonly refused: readonly RejectedRow[];
  readonly overwrite: boolean;
  readonly nowMs: EpochMs;
}

/** Rows are ascending, each time once. */
export type FilePiece = Piece &
  (
    | { readonly series: CandleSeries; readonly rows: readonly Candle[] }
    | { readonly series: HistorySeries; readonly rows: readonly HistoryPoint[] }
  );

export interface PieceResult {
  readonly fresh: number;
  /** Values that were stored before their period had closed, and are now as the file has them. */
  readonly provisional: number;
  /** Values that were overwritten; the old ones are revisions. */
  readonly revised: number;
  readonly unchanged: number;
  readonly rewritten: number;
  /** What is stored otherwise, and was kept. */
  readonly differences: readonly FileDifference[];
}

/** Stores a piece. @returns what became of it. */
export async function storePiece(database: Database, piece: FilePiece): Promise<PieceResult> {
  for (let how: 'copy' | 'merge' = 'copy'; ; how = 'merge') {
    const result = await attempt(database, piece, how);
    // Other transactions stored some of the same points meanwhile: the next attempt sees them.
    if (result !== null) return result;
  }
}

class LostRace extends Error {}

async function attempt(
  database: Database,
  piece: FilePiece,
  how: 'copy' | 'merge',
): Promise<PieceResult | null> {
  try {
    return await inTransaction(database, async (client) => {
      const { seriesId, window } = piece;
      const all = linesOf(piece, () => true);
      const [isHeld = true] = how === 'merge' ? [true] : await mayHold(client, [{ seriesId, window }]);
      let found: FileComparison = { differences: [], rewritten: 0 };
      let changes: PointChanges = { ...noChanges, fresh: all.timesMs.length };
      if (!isHeld) {
        if (!(await copyPoints(client, [{ seriesId, window, points: all }]))) throw new LostRace();
      } else {
        found = await compareWithFile(client, { ...piece, points: all });
        const kept = piece.overwrite
          ? found.differences.filter(({ inFile }) => inFile === null)
          : found.differences;
        found = { ...found, differences: kept };
        const keptTimes = new Set(kept.map(({ timeMs }) => timeMs));
        const points = linesOf(piece, (timeMs) => !keptTimes.has(timeMs));
        const merged = await mergePoints(client, { seriesId, window, points }, piece.nowMs);
        if (merged === null || (merged.revised > 0 && !piece.overwrite)) throw new LostRace();
        changes = merged;
      }
      await quarantineRows(client, {
        dataset: piece.series.dataset,
        seriesId,
        window,
        rows: piece.refused,
        seenAtMs: piece.nowMs,
      });
      await coverByFile(client, seriesId, {
        ...piece,
        interval: piece.series.interval,
        timesMs: all.timesMs,
        changes,
      });
      return {
        fresh: changes.fresh,
        provisional: changes.changed - changes.revised,
        revised: changes.revised,
        unchanged: changes.unchanged,
        ...found,
      };
    });
  } catch (error) {
    if (error instanceof LostRace) return null;
    throw error;
  }
}

function linesOf(piece: FilePiece, isWanted: (timeMs: EpochMs) => boolean): PointLines {
  return 'exchange' in piece.series
    ? candleLines(
        piece.seriesId,
        (piece.rows as readonly Candle[]).filter(({ period }) => isWanted(period)),
      )
    : historyLines(
        piece.seriesId,
        (piece.rows as readonly HistoryPoint[]).filter(({ time }) => isWanted(time)),
      );
}
