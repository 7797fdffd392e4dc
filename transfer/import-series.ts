/**
 * Imports one series of a file.
 *
 *   reading   rows arrive in ascending order. Each is validated like a row of an answer, and against the sidecar.
 *   storing   every 5,000 rows are stored in one transaction, without coverage. After a crash the same file again finds
 *             them unchanged and goes on.
 *   claiming  at the end of the series, when it has as many rows as its sidecar states, the stated coverage is added
 *             and the series is tracked.
 *
 * A row whose period may have been open when its file was made is stored last, without coverage, like the open candle
 * of an answer. It never replaces a covered value. The period of a rejected row stays a gap. A row that is rejected for
 * its time may have replaced any other row: then no coverage is claimed. Without a sidecar none is.
 */

import type { Clock } from '../clock.ts';
import { TidemarkError } from '../errors.ts';
import type { FileRow } from '../files/layout.ts';
import { counted, formatCount } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import type { Point } from '../model/point-lines.ts';
import { confirmedRanges, normalize, type Range } from '../model/ranges.ts';
import { type SeriesKey, seriesName } from '../model/series.ts';
import type { RejectedRow } from '../planning/answer.ts';
import { closedUpTo, periodOf } from '../planning/periods.ts';
import type { Database } from '../store/db/database.ts';
import { ensureSeries, trackSeries } from '../store/series/series.ts';
import { pointOf, type Stated, timeRejection } from './import-rows.ts';
import { claimCoverage, emptyPiece, type FilePiece, type PieceResult, storePiece } from './queries/import-points.ts';
import { quarantineOutsideRows } from './queries/import-rates.ts';

export interface ImportContext {
  readonly clock: Clock;
  readonly path: string;
  readonly database: Database;
  readonly overwrite?: boolean;
  readonly graceMs: number;
}

export interface StoredPiece extends PieceResult {
  readonly name: string;
  readonly refused: readonly RejectedRow[];
}

const rowsOfPiece = 5000;

export class SeriesImport {
  readonly #context: ImportContext;
  readonly #series: SeriesKey;
  readonly #stated: Stated | null;
  #rows: Point[] = [];
  #refused: RejectedRow[] = [];
  #open: FileRow | null = null;
  /** Periods of rejected rows. */
  #holes: Range[] = [];
  /** Whether a row was rejected for its time. */
  #hasWrongTime = false;
  #rowsRead = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  /** Time of the first valid row. */
  #firstMs: EpochMs | null = null;
  #storedFromMs: EpochMs | null = null;
  #storedUpToMs: EpochMs | null;
  #seriesId: number | null = null;

  /** @param stated null: there is no sidecar. */
  constructor(context: ImportContext, series: SeriesKey, stated: Stated | null) {
    this.#context = context;
    this.#series = series;
    this.#stated = stated;
    this.#storedUpToMs = stated?.range.startMs ?? null;
  }

  /** @returns the stored piece, when this row completed one. */
  async add(row: FileRow): Promise<StoredPiece | null> {
    if (row.mayBeOpen) {
      this.#open = row;
      return null;
    }
    const series = this.#series;
    const read = pointOf(row, series);
    const timeMs = read.row === null ? row.time : read.row.timeMs;
    const wrongTime = timeRejection(timeMs, { lastMs: this.#lastMs, nowMs: this.#context.clock.now() }, this.#stated);
    const reason = read.refusal?.reason ?? wrongTime ?? row.problem ?? null;
    this.#rowsRead += 1;
    if (wrongTime !== null) this.#hasWrongTime = true;
    else this.#lastMs = Number(timeMs);
    if (reason === null && read.row !== null) {
      this.#firstMs ??= read.row.timeMs;
      this.#rows.push(read.row);
    } else {
      this.#refused.push({ raw: read.raw, reason: `${row.place}: ${reason ?? 'not a point'}` });
      if (wrongTime === null) this.#holes.push(periodOf(Number(timeMs), series.interval));
    }
    return this.#rows.length + this.#refused.length < rowsOfPiece ? null : this.#store(null);
  }

  /**
   * Stores the rest, claims coverage and tracks the series. It is not tracked earlier: the scheduler would request the
   * ranges that are being imported.
   *
   * @returns what was stored.
   * @throws TidemarkError FILE_NOT_USABLE when the sidecar states another number of rows.
   */
  async end(): Promise<StoredPiece[]> {
    const stored = await this.#store(this.#stated?.range.endMs ?? null);
    this.#assertRowCount();
    if (this.#seriesId !== null) await this.#claim(this.#seriesId);
    return this.#open === null ? [stored] : [stored, await this.#storeOpen(this.#open)];
  }

  async #storeOpen(open: FileRow): Promise<StoredPiece> {
    const { mayBeOpen: _, ...row } = open;
    const last = new SeriesImport({ ...this.#context, overwrite: false }, this.#series, null);
    last.#seriesId = this.#seriesId;
    await last.add(row);
    const stored = await last.#store(null);
    // A covered value is final, and no row that may have been open contradicts it.
    return { ...stored, differences: [] };
  }

  #assertRowCount(): void {
    const stated = this.#stated?.points ?? this.#rowsRead;
    if (stated === this.#rowsRead) return;
    const name = seriesName(this.#series);
    throw new TidemarkError(
      'FILE_NOT_USABLE',
      `${this.#context.path} has ${counted(this.#rowsRead, 'row')} of ${name}, and its sidecar states ` +
        `${formatCount(stated)}`,
      { remedy: 'export it again, or import it with --points-only; no coverage of this series is claimed' },
    );
  }

  async #claim(seriesId: number): Promise<void> {
    const { clock, database, graceMs } = this.#context;
    const stated = this.#stated;
    const series = this.#series;
    if (stated !== null && !this.#hasWrongTime) {
      const endMs = Math.min(stated.range.endMs, closedUpTo(series, clock.now(), graceMs));
      const part = { window: { ...stated.range, endMs }, holes: normalize(this.#holes) };
      const isClaimed = await claimCoverage(database, seriesId, {
        series,
        firstMs: this.#firstMs,
        covered: confirmedRanges(stated.covered, part),
        confirmedEmpty: confirmedRanges(stated.confirmedEmpty, part),
        beforeBeginning: confirmedRanges(stated.beforeBeginning, part),
      });
      if (!isClaimed)
        throw new TidemarkError(
          'FILE_NOT_USABLE',
          `points of ${seriesName(series)} were deleted while the file was imported`,
          {
            remedy: 'run the same command again, or change the retention first; no coverage of this series is claimed',
          },
        );
    }
    const fromMs = stated?.range.startMs ?? this.#storedFromMs;
    const toMs = stated === null ? this.#storedUpToMs : stated.trackToMs;
    if (fromMs !== null) await trackSeries(database, series, fromMs, toMs);
  }

  async #store(endMs: EpochMs | null): Promise<StoredPiece> {
    const { clock, database, overwrite = false } = this.#context;
    const series = this.#series;
    const rows = this.#rows;
    const refused = this.#refused;
    const nowMs = clock.now();
    const window = this.#window(endMs);
    let result = emptyPiece;
    if (window === null) {
      await quarantineOutsideRows(database, { dataset: series.dataset, rows: refused, seenAtMs: nowMs });
    } else {
      this.#seriesId ??= await ensureSeries(database, series, { ...(this.#stated?.range ?? window), nowMs });
      const holes = normalize(this.#holes);
      const covered = confirmedRanges(this.#stated?.covered ?? [], { window, holes });
      const piece = { seriesId: this.#seriesId, series, rows, window, covered, refused, overwrite, nowMs };
      result = await storePiece(database, piece as FilePiece);
      this.#storedFromMs ??= window.startMs;
      this.#storedUpToMs = window.endMs;
    }
    this.#rows = [];
    this.#refused = [];
    return { ...result, name: seriesName(series), refused };
  }

  /** From the end of the last piece to the end of the last valid row's period; null: there is nothing to store. */
  #window(endMs: EpochMs | null): Range | null {
    const { interval } = this.#series;
    const [first, last] = [this.#rows[0], this.#rows.at(-1)];
    const firstMs = first === undefined ? null : periodOf(first.timeMs, interval).startMs;
    const lastMs = last === undefined ? null : periodOf(last.timeMs, interval).endMs;
    const startMs = Math.min(this.#storedUpToMs ?? Infinity, firstMs ?? Infinity);
    const reachesMs = Math.max(endMs ?? -Infinity, lastMs ?? -Infinity);
    return startMs < reachesMs ? { startMs, endMs: reachesMs } : null;
  }
}
