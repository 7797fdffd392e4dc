/**
 * Imports one series of a file.
 *
 *   reading   rows arrive in ascending order. Each is validated like a row of an answer, and against the sidecar.
 *   storing   every 40,000 rows are stored in one transaction, without coverage, while the next ones are read. After a
 *             crash the same file again finds them unchanged and goes on.
 *   claiming  at the end of the series, when it has as many rows as its sidecar states, the stated coverage is added
 *             and the series is tracked.
 *
 * A row whose period may have been open when its file was made is stored last, without coverage, like the open candle
 * of an answer. It never replaces a covered value. The period of a rejected row stays a gap. A row that is rejected for
 * its time may have replaced any other row: then no coverage is claimed. Without a sidecar none is.
 */

import type { Clock } from '../clock.ts';
import { TidemarkError } from '../errors.ts';
import { type FileRow, layouts } from '../files/layout.ts';
import { isPoints, PageCollector, type PointPage, rowOfPage } from '../files/point-pages.ts';
import { writeDecimal, writeNull } from '../model/binary/numeric.ts';
import type { TupleRun } from '../model/binary/tuples.ts';
import { counted, formatCount } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import type { Point } from '../model/point-lines.ts';
import { confirmedRanges, holds, normalize, type Range } from '../model/ranges.ts';
import { type SeriesKey, seriesName } from '../model/series.ts';
import type { RejectedRow } from '../planning/answer.ts';
import { closedUpTo, periodOf } from '../planning/periods.ts';
import type { Database } from '../store/db/database.ts';
import { ensureSeries, trackSeries } from '../store/series/series.ts';
import { pointOf, type Stated, timeRejection } from './import-rows.ts';
import { PieceTuples } from './piece-tuples.ts';
import { type IsPlain, plainPoints } from './plain-points.ts';
import { claimCoverage, emptyPiece, type FilePiece, type PieceResult, storePiece } from './queries/import-points.ts';
import { quarantineOutsideRows } from './queries/import-rates.ts';

export interface ImportContext {
  readonly clock: Clock;
  readonly path: string;
  readonly database: Database;
  readonly overwrite?: boolean;
  readonly graceMs: number;
  /** Called before each piece. @throws to stop the import. */
  readonly beforePiece: () => void;
  /** Called after each piece. */
  readonly onStored: (piece: StoredPiece) => void;
}

export interface StoredPiece extends PieceResult {
  readonly name: string;
  readonly refused: readonly RejectedRow[];
}

/** A transaction costs as much as a thousand rows, and a process that is killed loses one. */
export const rowsOfPiece = 40_000;

export class SeriesImport {
  readonly #context: ImportContext;
  readonly #series: SeriesKey;
  readonly #stated: Stated | null;
  readonly #isPlain: IsPlain;
  /** Valid rows that were read by themselves since the last run. */
  readonly #singles: PageCollector;
  /** Those of the piece, and of the piece that is being stored. */
  #tuples = new PieceTuples();
  #others = new PieceTuples();
  /** Valid rows of the piece, and the times of the first and the last row, of rejected ones too. */
  #count = 0;
  #pieceMs: { firstMs: EpochMs; lastMs: EpochMs } | null = null;
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
  /** The piece that is being stored, if any. */
  #storing: Promise<void> = Promise.resolve();

  /** @param stated null: there is no sidecar. */
  constructor(context: ImportContext, series: SeriesKey, stated: Stated | null) {
    this.#context = context;
    this.#series = series;
    this.#stated = stated;
    this.#isPlain = plainPoints(series.dataset, series.interval);
    this.#singles = new PageCollector(layouts[series.dataset], 'row');
    this.#storedUpToMs = stated?.range.startMs ?? null;
  }

  /** Adds rows, and stores them once a piece is complete. */
  async addPage(page: PointPage): Promise<void> {
    const { tuples } = page;
    const nowMs = this.#context.clock.now();
    let from = 0;
    for (let row = 0; row < tuples.length; row += 1) {
      const timeMs = tuples.timesMs[row] ?? Number.NaN;
      if (this.#mayFollow(timeMs, nowMs) && this.#isPlain(tuples, row)) {
        this.#rowsRead += 1;
        this.#lastMs = timeMs;
        this.#keep(timeMs);
        if (!this.#isComplete()) continue;
        this.#addRun({ tuples, from, to: row + 1 });
        await this.#storeLater(null);
      } else {
        this.#addRun({ tuples, from, to: row });
        await this.add(rowOfPage(page, row));
      }
      from = row + 1;
    }
    this.#addRun({ tuples, from, to: tuples.length });
  }

  /** Adds a row. */
  async add(row: FileRow): Promise<void> {
    if (row.mayBeOpen) {
      this.#open = row;
      return;
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
      this.#addSingle(read.row);
      this.#keep(read.row.timeMs);
    } else {
      this.#refused.push({ raw: read.raw(), reason: `${row.place}: ${reason ?? 'not a point'}` });
      if (wrongTime === null) {
        this.#holes.push(periodOf(Number(timeMs), series.interval));
        this.#reach(Number(timeMs));
      }
    }
    if (this.#isComplete()) await this.#storeLater(null);
  }

  /**
   * Stores the rest, claims coverage and tracks the series. It is not tracked earlier: the scheduler would request the
   * ranges that are being imported.
   *
   * @throws TidemarkError FILE_NOT_USABLE when the sidecar states another number of rows.
   */
  async end(): Promise<void> {
    await this.#storeLater(this.#stated?.range.endMs ?? null);
    await this.#storing;
    this.#assertRowCount();
    if (this.#seriesId !== null) await this.#claim(this.#seriesId);
    if (this.#open !== null) await this.#storeOpen(this.#open);
  }

  /** Waits for the piece that is being stored, whether it fails or not. */
  async settle(): Promise<void> {
    await this.#storing.catch(() => {});
  }

  async #storeOpen(open: FileRow): Promise<void> {
    const { mayBeOpen: _, ...row } = open;
    const { onStored } = this.#context;
    // A covered value is final, and no row that may have been open contradicts it.
    const context: ImportContext = {
      ...this.#context,
      overwrite: false,
      onStored: (piece) => onStored({ ...piece, differences: [] }),
    };
    const last = new SeriesImport(context, this.#series, null);
    last.#seriesId = this.#seriesId;
    await last.add(row);
    await last.#storeLater(null);
    await last.#storing;
  }

  /** Whether the next row may have this time, as {@link timeRejection} says. */
  #mayFollow(timeMs: EpochMs, nowMs: EpochMs): boolean {
    if (!(timeMs > this.#lastMs && timeMs >= 0 && timeMs <= nowMs)) return false;
    const stated = this.#stated;
    return stated === null || (holds(stated.covered, timeMs) && !holds(stated.confirmedEmpty, timeMs));
  }

  #keep(timeMs: EpochMs): void {
    this.#firstMs ??= timeMs;
    this.#reach(timeMs);
    this.#count += 1;
  }

  #reach(timeMs: EpochMs): void {
    if (this.#pieceMs === null) this.#pieceMs = { firstMs: timeMs, lastMs: timeMs };
    else this.#pieceMs.lastMs = timeMs;
  }

  #isComplete(): boolean {
    return this.#count + this.#refused.length >= rowsOfPiece;
  }

  #addSingle({ timeMs, values }: Point): void {
    let end = this.#singles.begin(timeMs);
    const { bytes } = this.#singles;
    for (const value of values) end = value === null ? writeNull(bytes, end) : writeDecimal(value, bytes, end);
    this.#singles.keep(timeMs, end, this.#rowsRead);
  }

  #addRun(run: TupleRun): void {
    if (run.from === run.to) return;
    this.#addSingles();
    this.#tuples.add(run);
  }

  #addSingles(): void {
    for (const page of this.#singles.take())
      if (isPoints(page)) this.#tuples.add({ tuples: page.tuples, from: 0, to: page.tuples.length });
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

  /** Begins to store what was added, once the piece before is stored. */
  async #storeLater(endMs: EpochMs | null): Promise<void> {
    await this.#storing;
    this.#context.beforePiece();
    this.#addSingles();
    const piece = { runs: this.#tuples.runs(), refused: this.#refused, window: this.#window(endMs) };
    [this.#tuples, this.#others] = [this.#others, this.#tuples];
    this.#tuples.clear();
    this.#refused = [];
    this.#count = 0;
    this.#pieceMs = null;
    this.#storedFromMs ??= piece.window?.startMs ?? null;
    this.#storedUpToMs = piece.window?.endMs ?? this.#storedUpToMs;
    this.#storing = this.#store(piece);
    // Who waits for it next gets its error.
    this.#storing.catch(() => {});
  }

  async #store({ runs, refused, window }: Pick<FilePiece, 'runs' | 'refused'> & { window: Range | null }) {
    const { clock, database, overwrite = false, onStored } = this.#context;
    const series = this.#series;
    const nowMs = clock.now();
    let result = emptyPiece;
    if (window === null) {
      await quarantineOutsideRows(database, { dataset: series.dataset, rows: refused, seenAtMs: nowMs });
    } else {
      this.#seriesId ??= await ensureSeries(database, series, { ...(this.#stated?.range ?? window), nowMs });
      const holes = normalize(this.#holes);
      const covered = confirmedRanges(this.#stated?.covered ?? [], { window, holes });
      const piece = { seriesId: this.#seriesId, series, runs, window, covered, refused, overwrite, nowMs };
      result = await storePiece(database, piece);
    }
    onStored({ ...result, name: seriesName(series), refused });
  }

  /** From the end of the last piece to the end of the last row's period; null: no row has a time. */
  #window(endMs: EpochMs | null): Range | null {
    const { interval } = this.#series;
    const piece = this.#pieceMs;
    const firstMs = piece === null ? null : periodOf(piece.firstMs, interval).startMs;
    const lastMs = piece === null ? null : periodOf(piece.lastMs, interval).endMs;
    const startMs = Math.min(this.#storedUpToMs ?? Infinity, firstMs ?? Infinity);
    const reachesMs = Math.max(endMs ?? -Infinity, lastMs ?? -Infinity);
    return startMs < reachesMs ? { startMs, endMs: reachesMs } : null;
  }
}
