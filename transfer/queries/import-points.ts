/**
 * Stores a piece of a file: points, revisions and quarantine in one transaction, by the code that stores an answer.
 * After a crash a piece is stored completely or not at all. The points are uncovered until the coverage of the series
 * is claimed.
 *
 * A stored value that differs is kept, unless it may be overwritten: then the old value becomes a revision.
 */

import type pg from 'pg';
import { pointOfTuple, type TupleRun } from '../../model/binary/tuples.ts';
import { byDataset } from '../../model/datasets/index.ts';
import type { EpochMs } from '../../model/intervals.ts';
import { linesOf, type PointLines } from '../../model/point-lines.ts';
import { holds, type Range } from '../../model/ranges.ts';
import type { SeriesKey } from '../../model/series.ts';
import type { RejectedRow } from '../../planning/answer.ts';
import { createChunks } from '../../store/commit/create-chunks.ts';
import { hasStoredPoint, mayContainPoints } from '../../store/commit/evaluate-answers.ts';
import { pointSql } from '../../store/commit/points.ts';
import { copyTuples, mergePoints, noChanges, type PointChanges, sumChanges } from '../../store/commit/write-points.ts';
import { type Database, inTransaction } from '../../store/db/database.ts';
import { LostRace, retryLostRaces } from '../../store/db/failure.ts';
import { int4, jsonb, ranges, statement } from '../../store/db/statement.ts';
import { quarantineRows } from '../../store/ledger/quarantine.ts';
import { addFileCoverage, type FileCoverage } from './import-coverage.ts';
import { compareStored } from './stored-tuples.ts';

export interface FilePiece {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Of the series' dataset, ascending, each time once. */
  readonly runs: readonly TupleRun[];
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
    await addFileCoverage(client, seriesId, { ...stated, series, runs: [], changes: noChanges });
    return true;
  });
}

/** Stores a piece. @returns the counts of its rows by outcome. */
export async function storePiece(database: Database, piece: FilePiece): Promise<PieceResult> {
  const times = piece.runs.map(({ tuples, from, to }) => ({ timesMs: tuples.timesMs.subarray(from, to) }));
  await createChunks(database, piece.series.dataset, times);
  return retryLostRaces((number) => attempt(database, piece, number === 1 ? 'copy' : 'merge'));
}

async function attempt(database: Database, piece: FilePiece, how: 'copy' | 'merge'): Promise<PieceResult> {
  return inTransaction(database, async (client) => {
    const { seriesId, series, runs, window } = piece;
    const [isHeld = true] =
      how === 'merge' ? [true] : await mayContainPoints(client, [{ window: { seriesId, ...window } }]);
    const { changes, ...found } = isHeld ? await mergeRuns(client, piece) : await copyRuns(client, piece, runs);
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
      runs,
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

interface StoredRuns extends FileComparison {
  readonly changes: PointChanges;
}

/** Stores rows whose times have no point. @throws LostRace when one has. */
async function copyRuns(
  client: pg.PoolClient,
  { series: { dataset }, seriesId }: FilePiece,
  runs: readonly TupleRun[],
): Promise<StoredRuns> {
  if (!(await copyTuples(client, dataset, runs, seriesId))) throw new LostRace();
  const fresh = runs.reduce((sum, { from, to }) => sum + to - from, 0);
  return { changes: { ...noChanges, fresh }, rewritten: 0, differences: [] };
}

/** Rows of one statement. */
const rowsOfStatement = 5000;

/**
 * Compares the rows with the stored ones, and stores what may be. A stored point that is not covered is provisional,
 * like an open candle: the file's point may replace it, and it is not a difference.
 */
async function mergeRuns(client: pg.PoolClient, piece: FilePiece): Promise<StoredRuns> {
  const { seriesId, series, window, covered, overwrite, nowMs } = piece;
  const { dataset } = series;
  const compared = await compareStored(client, { dataset, seriesId, window }, piece.runs);
  const all: StoredRuns[] = [await copyRuns(client, piece, compared.missing)];
  all.push({ changes: { ...noChanges, unchanged: compared.unchanged }, rewritten: 0, differences: [] });
  const changed = compared.changed.flatMap(({ tuples, from, to }) =>
    Array.from({ length: to - from }, (_, row) => pointOfTuple(tuples, from + row)),
  );
  for (const rows of chunked(changed, rowsOfStatement)) {
    const points = linesOf(dataset, rows);
    const range = { startMs: points.timesMs[0] ?? 0, endMs: (points.timesMs.at(-1) ?? 0) + 1 };
    const found = await compareWithFile(client, { seriesId, window: range, covered: [], points });
    const differences = overwrite ? [] : found.differences;
    const keptTimes = new Set(differences.map(({ timeMs }) => timeMs));
    const taken = rows.filter(({ timeMs }) => !keptTimes.has(timeMs));
    const merged = await mergePoints(
      client,
      { window: { seriesId, ...range }, points: linesOf(dataset, taken) },
      nowMs,
    );
    if (merged === null || (merged.revised > 0 && !overwrite)) throw new LostRace();
    all.push({ changes: merged, rewritten: found.rewritten, differences });
  }
  const absentMs = compared.absentMs.filter((timeMs) => holds(covered, timeMs));
  for (const timesMs of chunked(absentMs, rowsOfStatement)) {
    const ranges = timesMs.map((timeMs) => ({ startMs: timeMs, endMs: timeMs + 1 }));
    const range = { startMs: timesMs[0] ?? 0, endMs: (timesMs.at(-1) ?? 0) + 1 };
    const absent = { seriesId, window: range, covered: ranges, points: linesOf(dataset, []) };
    all.push({ changes: noChanges, rewritten: 0, differences: (await compareWithFile(client, absent)).differences });
  }
  return {
    changes: sumChanges(all.map(({ changes }) => changes)),
    rewritten: all.reduce((sum, { rewritten }) => sum + rewritten, 0),
    differences: all.flatMap(({ differences }) => differences).sort((a, b) => a.timeMs - b.timeMs),
  };
}

function* chunked<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

export interface FileDifference {
  readonly timeMs: EpochMs;
  /** Values by column, as exact text. */
  readonly stored: Readonly<Record<string, string>>;
  /** Null: the file covers this time and has no such point. */
  readonly inFile: Readonly<Record<string, string>> | null;
}

interface FileComparison {
  /** In order of time. */
  readonly differences: readonly FileDifference[];
  /** Points with equal numbers and other digits, which keep the first received text. */
  readonly rewritten: number;
}

/**
 * Compares a file's points with the stored ones within `window`, within the caller's transaction.
 *
 * @param covered ranges in which the file claims to have every point.
 */
async function compareWithFile(
  client: pg.PoolClient,
  input: { seriesId: number; window: Range; covered: readonly Range[]; points: PointLines },
): Promise<FileComparison> {
  const { seriesId, window, covered, points } = input;
  const file = { points, seriesId, start: window.startMs, end: window.endMs, covered };
  return comparisons[points.dataset].one(client, file);
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
