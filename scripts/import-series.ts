/**
 * One series on its way from a file into the store.
 *
 *   gathering   rows come, ascending. Each is checked by itself, and against what the sidecar states.
 *   storing     of so many rows a piece is made: the rows, and the coverage from where the last piece ended to the end
 *               of the last good row's period. They are stored together, so a crash leaves whole pieces, and the same
 *               file again finds them unchanged and goes on.
 *   ended       the last piece reaches to the end of what the sidecar states.
 *
 * A row that is refused takes its period out of the coverage. Where one does not even say which period that is, it may
 * be any, and of the whole series only rows that are there are covered. Without a sidecar nothing is.
 */

import type { EpochMs } from '../contract/intervals.ts';
import type { Candle, HistoryPoint } from '../contract/resources.ts';
import { type SeriesKey, seriesName } from '../contract/series.ts';
import type { FileRow } from '../files/layout.ts';
import { closedUpTo } from '../planning/closed.ts';
import { borneOut, periodOf } from '../planning/file-coverage.ts';
import { normalize, type Range } from '../planning/ranges.ts';
import type { Database } from '../store/database.ts';
import type { FileCoverage } from '../store/import/coverage.ts';
import { type FilePiece, type PieceResult, storePiece } from '../store/import/points.ts';
import { quarantineStrays } from '../store/import/strays.ts';
import { knowSeries, trackSeries } from '../store/series.ts';
import type { CountedSeries } from './import-count.ts';
import { candleOf, historyPointOf, type Refusal } from './import-rows.ts';
import { objectionTo, type Stated } from './import-stated.ts';

export interface ImportContext {
  readonly database: Database;
  readonly overwrite: boolean;
  readonly graceMs: number;
}

const rowsOfPiece = 5000;

export class SeriesImport {
  readonly #context: ImportContext;
  readonly #series: SeriesKey;
  readonly #stated: Stated | null;
  /** Whether a refused row may belong to any period. */
  readonly #isDoubtful: boolean;
  #rows: Array<Candle | HistoryPoint> = [];
  #refused: Refusal[] = [];
  /** Periods of refused rows. */
  #holes: Range[] = [];
  #lastMs = Number.NEGATIVE_INFINITY;
  #storedUpToMs: EpochMs | null;
  #storedFromMs: EpochMs | null = null;
  #seriesId: number | null = null;

  /** @param counted what of the series the file was found to hold; null: without a sidecar. */
  constructor(context: ImportContext, series: SeriesKey, counted: CountedSeries | null) {
    this.#context = context;
    this.#series = series;
    this.#stated = counted?.stated ?? null;
    this.#isDoubtful = counted?.isDoubtful === true;
    this.#storedUpToMs = counted?.stated.range.startMs ?? null;
  }

  /** @returns what became of a piece, when the row filled one. */
  async add(row: FileRow): Promise<StoredPiece | null> {
    const series = this.#series;
    const read = series.dataset === 'candles' ? candleOf(row, series.interval) : historyPointOf(row);
    const timeMs = read.row === null ? row.time : timeOfPoint(read.row);
    const reason = read.refusal?.reason ?? objectionTo(timeMs, this.#lastMs, this.#stated);
    if (reason === null && read.row !== null) {
      this.#rows.push(read.row);
      this.#lastMs = timeOfPoint(read.row);
    } else {
      this.#refused.push({ raw: read.raw, reason: reason ?? 'not a point' });
      if (isTime(timeMs)) this.#holes.push(periodOf(timeMs, series.interval));
    }
    return this.#rows.length + this.#refused.length < rowsOfPiece ? null : this.#store(null);
  }

  /**
   * Stores what is left, up to the end of what is stated. Only then is the series tracked, over all of it: before, a
   * scheduler would ask the source for what is about to be imported, and the first piece would pass for all.
   */
  async end(): Promise<StoredPiece> {
    const stored = await this.#store(this.#stated?.range.endMs ?? null);
    const fromMs = this.#stated?.range.startMs ?? this.#storedFromMs;
    const toMs = this.#stated === null ? this.#storedUpToMs : this.#stated.trackToMs;
    if (this.#seriesId !== null && fromMs !== null) {
      await trackSeries(this.#context.database, this.#series, fromMs, toMs);
    }
    return stored;
  }

  async #store(endMs: EpochMs | null): Promise<StoredPiece> {
    const { database, overwrite, graceMs } = this.#context;
    const series = this.#series;
    const rows = this.#rows;
    const refused = this.#refused;
    const nowMs = Date.now();
    const window = this.#window(endMs);
    let result = unchanged;
    if (window === null) {
      await quarantineStrays(database, { dataset: series.dataset, rows: refused, seenAtMs: nowMs });
    } else {
      const seriesId = await this.#idOf(window);
      const stated = this.#coverageOf(window, closedUpTo(series, nowMs, graceMs));
      const piece = { ...stated, seriesId, series, rows, window, refused, overwrite, nowMs };
      result = await storePiece(database, piece as FilePiece);
      this.#storedFromMs ??= window.startMs;
      this.#storedUpToMs = window.endMs;
    }
    this.#rows = [];
    this.#refused = [];
    this.#holes = normalize(this.#holes).filter((hole) => window === null || hole.endMs > window.endMs);
    return { ...result, name: seriesName(series), rows: rows.length, refused };
  }

  async #idOf(window: Range): Promise<number> {
    this.#seriesId ??= await knowSeries(this.#context.database, this.#series, this.#stated?.range ?? window);
    return this.#seriesId;
  }

  /**
   * From where the last piece ended to the end of the last good row's period: a refused one may lie anywhere. Null when
   * there is nothing to store.
   */
  #window(endMs: EpochMs | null): Range | null {
    const { interval } = this.#series;
    const [first, last] = [this.#rows[0], this.#rows.at(-1)];
    const firstMs = first === undefined ? null : periodOf(timeOfPoint(first), interval).startMs;
    const lastMs = last === undefined ? null : periodOf(timeOfPoint(last), interval).endMs;
    const startMs = Math.min(this.#storedUpToMs ?? Infinity, firstMs ?? Infinity);
    const reachesMs = Math.max(endMs ?? -Infinity, lastMs ?? -Infinity);
    return startMs < reachesMs ? { startMs, endMs: reachesMs } : null;
  }

  #coverageOf(window: Range, closedUpToMs: EpochMs): FileCoverage {
    const { interval } = this.#series;
    const only = this.#isDoubtful
      ? normalize(this.#rows.map((row) => periodOf(timeOfPoint(row), interval)))
      : null;
    const read = { window, closedUpToMs, holes: this.#holes, only };
    const { covered, confirmedEmpty, beforeBeginning } = this.#stated ?? nothing;
    return {
      covered: borneOut(covered, read),
      confirmedEmpty: borneOut(confirmedEmpty, read),
      beforeBeginning: borneOut(beforeBeginning, read),
    };
  }
}

export interface StoredPiece extends PieceResult {
  readonly name: string;
  readonly rows: number;
  readonly refused: readonly Refusal[];
}

const unchanged: PieceResult = Object.freeze({
  ...{ fresh: 0, provisional: 0, revised: 0, unchanged: 0, rewritten: 0, differences: [] },
});
const nothing: FileCoverage = Object.freeze({ covered: [], confirmedEmpty: [], beforeBeginning: [] });

/** Whether it is a time that a point may have. */
function isTime(time: FileRow['time']): time is EpochMs {
  return typeof time === 'number' && Number.isSafeInteger(time) && time >= 0 && time <= Date.now();
}

function timeOfPoint(row: Candle | HistoryPoint): EpochMs {
  return 'period' in row ? row.period : row.time;
}
