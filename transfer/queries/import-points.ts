/**
 * Stores a piece of a file: points, revisions and quarantine in one transaction, by the code that stores an answer.
 * After a crash a piece is stored completely or not at all. The points are uncovered until the coverage of the series
 * is claimed.
 *
 * A stored value that differs is kept, unless it may be overwritten: then the old value becomes a revision.
 */

import type pg from 'pg';
import { byDataset } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { linesOf, type Point, type PointLines, pickPoints } from '../../model/point-lines.ts';
import type { Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { RejectedRow } from '../../planning/answer.ts';
import { hasStoredPoint, mayContainPoints } from '../../store/commit/evaluate-answers.ts';
import { pointSql } from '../../store/commit/points.ts';
import { copyPoints, mergePoints, noChanges, type PointChanges } from '../../store/commit/write-points.ts';
import { type Database, inTransaction } from '../../store/db/database.ts';
import { LostRace, retryLostRaces } from '../../store/db/failure.ts';
import { int4, jsonb, ranges, statement } from '../../store/db/statement.ts';
import { quarantineRows } from '../../store/ledger/quarantine.ts';
import { addFileCoverage, type FileCoverage } from './import-coverage.ts';

export interface FilePiece {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Of the series' dataset, ascending, each time once. */
  readonly rows: readonly Point[];
  /** Ranges of which the file claims to have every point. The piece does not cover them: see {@link claimCoverage}. */
  readonly covered: readonly Range[];
  /** Holds all of the rows, and all that is covered. */
  readonly window: Range;
  readonly refused: readonly RejectedRow[];
  readonly overwrite: boolean;
  readonly nowMs: EpochMs;
}

export interface PieceResult {
  readonly fresh: number;
  /**
   * Stored points of periods that had not closed, or that lacked an optional value, which now have the file's values.
   */
  readonly provisional: number;
  /** Overwritten values; the old ones are revisions. */
  readonly revised: number;
  readonly unchanged: number;
  readonly rewritten: number;
  /** Differing stored values that were kept. */
  readonly differences: readonly FileDifference[];
}

export const emptyPiece: PieceResult = Object.freeze({
  fresh: 0,
  provisional: 0,
  revised: 0,
  unchanged: 0,
  rewritten: 0,
  differences: [],
});

/**
 * Adds the coverage of a series, once all of its pieces are stored and checked. Retention may have dropped points
 * since. It drops the oldest ones first, so the first point shows whether all are still stored.
 *
 * @param stated.firstMs time of the file's first point; null: it has none.
 * @returns false when points were deleted; no coverage is added then.
 */
export function claimCoverage(
  database: Database,
  seriesId: number,
  { series, firstMs, ...stated }: FileCoverage & { readonly series: SeriesKey; readonly firstMs: EpochMs | null },
): Promise<boolean> {
  return inTransaction(database, async (client) => {
    // Lock the series first: a retention that commits later cuts the coverage again.
    await client.query('select from tidemark.series where id = $1 for update', [seriesId]);
    if (firstMs !== null && !(await hasStoredPoint(client, seriesId, series.dataset, firstMs, firstMs + 1)))
      return false;
    await addFileCoverage(client, seriesId, { ...stated, series, timesMs: [], changes: noChanges });
    return true;
  });
}

/** Stores a piece. @returns the counts of its rows by outcome. */
export function storePiece(database: Database, piece: FilePiece): Promise<PieceResult> {
  return retryLostRaces((number) => attempt(database, piece, number === 1 ? 'copy' : 'merge'));
}

async function attempt(database: Database, piece: FilePiece, how: 'copy' | 'merge'): Promise<PieceResult> {
  return inTransaction(database, async (client) => {
    const { seriesId, series, rows, window } = piece;
    const asked = { seriesId, ...window };
    const all = linesOf(series.dataset, rows);
    const [isHeld = true] = how === 'merge' ? [true] : await mayContainPoints(client, [{ window: asked }]);
    let found: FileComparison = { differences: [], rewritten: 0 };
    let changes: PointChanges = { ...noChanges, fresh: all.timesMs.length };
    if (!isHeld) {
      if (!(await copyPoints(client, [{ window: asked, points: all }]))) throw new LostRace();
    } else {
      found = await compareWithFile(client, { ...piece, points: all });
      const kept = piece.overwrite ? found.differences.filter(({ inFile }) => inFile === null) : found.differences;
      found = { ...found, differences: kept };
      const keptTimes = new Set(kept.map(({ timeMs }) => timeMs));
      const taken = [...all.timesMs.keys()].filter((place) => !keptTimes.has(all.timesMs[place] ?? Number.NaN));
      const points = pickPoints(all, taken);
      const merged = await mergePoints(client, { window: asked, points }, piece.nowMs);
      if (merged === null || (merged.revised > 0 && !piece.overwrite)) throw new LostRace();
      changes = merged;
    }
    await quarantineRows(client, {
      dataset: series.dataset,
      seriesId,
      window,
      rows: piece.refused,
      seenAtMs: piece.nowMs,
    });
    await addFileCoverage(client, seriesId, {
      covered: [],
      confirmedEmpty: [],
      beforeBeginning: [],
      series,
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
}

export interface FileDifference {
  readonly timeMs: EpochMs;
  /** Values by column, as exact text. */
  readonly stored: Readonly<Record<string, string>>;
  /** Null: the file covers this time and has no such point. */
  readonly inFile: Readonly<Record<string, string>> | null;
}

export interface FileComparison {
  /** In order of time. */
  readonly differences: readonly FileDifference[];
  /** Points with equal numbers and other digits, which keep the first received text. */
  readonly rewritten: number;
}

/**
 * Compares a file's points with the stored ones within `window`, within the caller's transaction. A stored point that
 * is not covered is provisional, like an open candle: the file's point may replace it, and it is not a difference.
 *
 * @param covered ranges in which the file claims to have every point.
 */
async function compareWithFile(
  client: pg.PoolClient,
  input: { seriesId: number; window: Range; covered: readonly Range[]; points: PointLines },
): Promise<FileComparison> {
  const { seriesId, window, covered, points } = input;
  const file = { points, seriesId, start: window.startMs, end: window.endMs, covered };
  const [found] = await comparisons[points.dataset].on(client, file);
  return found ?? { rewritten: 0, differences: [] };
}

const comparisons = byDataset((_, dataset) => comparison(dataset));

function comparison(dataset: PointLines['dataset']) {
  const { incoming, stored, different, revised, writtenOtherwise, object, parameters } = pointSql(dataset);
  const texts = (from: 'i' | 's') => `jsonb_strip_nulls(${object(from, '::text')})`;
  return statement({
    name: `compare-file-${dataset}`,
    text: `
      with incoming as (
        ${incoming}
      ), stored as materialized (
        ${stored}
      ), compared as (
        select s.time, ${texts('s')} as stored, case when i.time is not null then ${texts('i')} end as in_file,
               case when i.time is null then case when $covered @> s.time then 'different' end
                    when ${different}
                      then case when ${revised} and k.covered @> s.time then 'different' end
                    when ${writtenOtherwise} then 'rewritten'
               end as kind
        from stored s left join incoming i on i.time = s.time
             join tidemark.series k on k.id = $seriesId
      )
      select count(*) filter (where kind = 'rewritten')::int as rewritten,
             coalesce(jsonb_agg(jsonb_build_object('timeMs', (extract(epoch from time) * 1000)::bigint, 'stored',
               stored,
                                                   'inFile', in_file) order by time)
                        filter (where kind = 'different'), '[]') as differences
      from compared`,
    parameters: { ...parameters, covered: ranges },
    row: { rewritten: int4, differences: jsonb<readonly FileDifference[]>() },
  });
}
