/**
 * Reads a candle file of another program, twice.
 *
 *   survey    reads every row from the first line on: columns, unit, grid and order of the times. A file that breaks a rule of
 *             its format is rejected with the line, before anything of it is stored. The survey yields what the file covers.
 *   pages     yields the rows in ascending order. Their values are validated when they are stored.
 */

import { basename } from 'node:path';
import { type EpochMs, intervalMs, isOnGrid, minuteMs, type Range } from '../contract/intervals.ts';
import type { CandleSeries } from '../contract/series.ts';
import { counted, formatTime } from '../format.ts';
import { periodOf } from '../planning/periods.ts';
import { holds, normalize, subtract } from '../planning/ranges.ts';
import {
  type CandleFormat,
  type CandleFormatName,
  type Cells,
  type Columns,
  candleFormats,
  type NameFacts,
  readTime,
  symbolText,
  type TimeUnit,
} from './candle-formats.ts';
import { type CandleRecord, csvRecords, csvRecordsBackward, jsonRecords } from './candle-records.ts';
import { usablePages } from './formats.ts';
import { layouts, type ReadRow, type RowFile } from './layout.ts';
import { bytesOf } from './text-formats.ts';
import { csvInZip } from './zip.ts';

export interface CandleFile extends RowFile {
  /** Rows of its pages. A newest row that may have been open is left out. */
  readonly rows: number;
  readonly covered: readonly Range[];
  /** The market that its rows or its name state, as {@link symbolText}; null: neither does. */
  readonly market: string | null;
  /** Facts that the user should know. */
  readonly notes: readonly string[];
}

export interface CandleFileQuery {
  readonly format: CandleFormatName;
  readonly series: CandleSeries;
  /** Called between pages of the survey. @throws to stop. */
  readonly beforePage: () => void;
}

/** @throws Error for a file that breaks a rule of its format; TidemarkError FILE_NOT_USABLE from the reading of the pages. */
export async function openCandleFile(path: string, query: CandleFileQuery): Promise<CandleFile> {
  const format = candleFormats[query.format];
  const { exchange, baseId, quoteId, interval } = query.series;
  const survey = new Survey(query, basename(path));
  for await (const records of recordsOf(path, format)) {
    query.beforePage();
    for (const record of records) survey.add(record);
  }
  const { heading, columns, ...result } = survey.end();
  const names = [exchange, baseId, quoteId, interval];
  const rowOf = (cells: Cells): ReadRow => ({
    names,
    time: readTime(cells[0] ?? null)?.ms ?? null,
    values: cells.slice(columns.values, columns.values + layouts.candles.values.length),
  });
  async function* pages(): AsyncGenerator<ReadRow[]> {
    // Ascending, so that a newest row that is left out is the last one.
    let [skipped, left] = [format.isDescending ? 0 : heading, result.rows];
    const all = format.isDescending ? csvRecordsBackward(path) : cellsOf(recordsOf(path, format));
    for await (const page of all) {
      const rows = page.slice(skipped, skipped + left);
      skipped -= Math.min(skipped, page.length);
      left -= rows.length;
      yield rows.map(rowOf);
      if (left === 0) return;
    }
  }
  return { ...result, layout: layouts.candles, pages: () => usablePages(path, pages()) };
}

function recordsOf(path: string, { syntax, mayBeZip }: CandleFormat): AsyncGenerator<CandleRecord[]> {
  if (syntax === 'json') return jsonRecords(bytesOf(path));
  return csvRecords(mayBeZip && /\.zip$/i.test(path) ? csvInZip(path) : bytesOf(path));
}

async function* cellsOf(pages: AsyncGenerator<CandleRecord[]>): AsyncGenerator<Cells[]> {
  for await (const page of pages) yield page.map(({ cells }) => cells);
}

const letters = /[a-z]/i;

class Survey {
  readonly #series: CandleSeries;
  readonly #name: CandleFormatName;
  readonly #format: CandleFormat;
  readonly #facts: NameFacts;
  /** Records before the first row. */
  #heading = 0;
  #columns: Columns | null;
  #rows = 0;
  #unit: TimeUnit | null = null;
  #symbol: string | null = null;
  #lastMs: EpochMs | null = null;
  #newestMs = 0;
  #hasNeighbours = false;
  /** Completed ranges, and the current one. */
  readonly #ranges: Range[] = [];
  #range: Range | null = null;

  constructor({ series, format }: CandleFileQuery, fileName: string) {
    this.#series = series;
    this.#name = format;
    this.#format = candleFormats[format];
    this.#columns = this.#format.columns;
    this.#facts = this.#format.nameFacts(fileName);
    const statedMs = this.#facts.intervalMs;
    if (statedMs !== null && statedMs !== intervalMs[series.interval])
      throw new Error(`its name states another interval than ${series.interval}`);
  }

  /** @throws Error with the line. */
  add({ place, cells }: CandleRecord): void {
    try {
      if (this.#rows === 0 && this.#isHeading(cells)) this.#heading += 1;
      else this.#addRow(cells);
    } catch (error) {
      throw new Error(`${place}: ${(error as Error).message}`, { cause: error });
    }
  }

  #isHeading(cells: Cells): boolean {
    if (this.#heading === 0 && this.#format.isComment(cells)) return true;
    if (this.#columns !== this.#format.columns) return false;
    if (this.#columns !== null && !letters.test(cells[0] ?? '')) return false;
    const columns = this.#format.header(cells);
    if (columns === null) throw new Error(`unknown columns for ${this.#name}: ${cells.join().slice(0, 200)}`);
    this.#columns = columns;
    return true;
  }

  #addRow(cells: Cells): void {
    const { interval } = this.#series;
    const count = this.#columns?.count ?? 0;
    if (cells.length !== count) throw new Error(`it has ${counted(cells.length, 'column')}, not ${count}`);
    const ms = this.#timeOf(cells[0] ?? null);
    const isLate = this.#format.mayBeginLate && ms % minuteMs !== 0;
    if (!isOnGrid(ms, interval) && !isLate)
      throw new Error(
        `${formatTime(ms)}, from ${cells[0]} as ${this.#unit}, does not start a period of ${interval}: check --interval and the unit`,
      );
    const { range } = this.#facts;
    if (range !== null && !holds([range], ms))
      throw new Error(`${formatTime(ms)} lies outside of the time that the name of the file states`);
    this.#assertOrder(ms);
    this.#assertClose(cells, ms);
    this.#assertDate(this.#format.dateText(cells), ms);
    this.#assertSymbol(this.#format.symbol(cells));
    this.#cover(periodOf(ms, interval));
    this.#hasNeighbours ||= this.#lastMs !== null && Math.abs(ms - this.#lastMs) === intervalMs[interval];
    this.#newestMs = Math.max(this.#newestMs, ms);
    this.#lastMs = ms;
    this.#rows += 1;
  }

  #timeOf(text: string | null): EpochMs {
    const time = readTime(text);
    const expected = this.#format.units.join(' or ');
    if (time === null || !Number.isSafeInteger(time.ms))
      throw new Error(`${JSON.stringify(text)} is not a time in ${expected}`);
    if (!this.#format.units.includes(time.unit))
      throw new Error(`its time ${text} is in ${time.unit}, and ${this.#name} has ${expected}`);
    this.#unit ??= time.unit;
    if (time.unit !== this.#unit)
      throw new Error(`its time ${text} is in ${time.unit}, and that of the rows before in ${this.#unit}`);
    return time.ms;
  }

  #assertOrder(ms: EpochMs): void {
    const lastMs = this.#lastMs;
    const { isDescending } = this.#format;
    if (lastMs === null || (isDescending ? ms < lastMs : ms > lastMs)) return;
    throw new Error(
      `${formatTime(ms)} is not ${isDescending ? 'before' : 'after'} the row above it, ${formatTime(lastMs)}`,
    );
  }

  #assertClose(cells: Cells, ms: EpochMs): void {
    const text = this.#format.closeTime(cells);
    if (text === null) return;
    const close = readTime(text);
    const { interval } = this.#series;
    if (close === null || close.unit !== this.#unit)
      throw new Error(`its close time ${JSON.stringify(text)} is not a time in ${this.#unit}`);
    // It may be earlier: an outage ends a period.
    if (close.ms >= ms + intervalMs[interval])
      throw new Error(`it closes at ${formatTime(close.ms)}, after ${interval}: check --interval`);
  }

  /** A date alone is that of the day. */
  #assertDate(text: string | null, ms: EpochMs): void {
    if (text === null || new Date(ms).toISOString().replace('T', ' ').startsWith(text)) return;
    throw new Error(`its date ${text} is not its time, ${formatTime(ms)}`);
  }

  #assertSymbol(text: string | null): void {
    if (text === null) return;
    const volumeOf = this.#columns?.volumeOf ?? '';
    if (!text.startsWith(volumeOf))
      throw new Error(`its symbol is ${text}, and the first volume is counted in ${volumeOf}`);
    this.#symbol ??= text;
    if (text !== this.#symbol)
      throw new Error(`its symbol is ${text}, and that of the rows before ${this.#symbol}`);
  }

  #cover(period: Range): void {
    const range = this.#range;
    const joins =
      range !== null &&
      (this.#format.isAbsenceNoTrade || (period.startMs <= range.endMs && range.startMs <= period.endMs));
    if (range !== null && !joins) this.#ranges.push(range);
    this.#range = joins
      ? {
          startMs: Math.min(range.startMs, period.startMs),
          endMs: Math.max(range.endMs, period.endMs),
        }
      : period;
  }

  end(): Pick<CandleFile, 'rows' | 'covered' | 'market' | 'notes'> & { heading: number; columns: Columns } {
    const { interval, baseId, quoteId } = this.#series;
    const columns = this.#columns;
    if (columns === null || this.#range === null) throw new Error('it has no rows');
    // Hours that are named minutes begin on the grid of minutes, too.
    if (this.#rows > 1 && !this.#hasNeighbours && this.#facts.intervalMs === null)
      throw new Error(`no two rows are one ${interval} apart: check --interval`);
    const all = normalize([...this.#ranges, this.#range]);
    const market = this.#symbol ?? this.#facts.market;
    const result = { heading: this.#heading, columns, market };
    const notes: string[] = [];
    if (this.#symbol !== null && this.#symbol !== symbolText(baseId + quoteId))
      notes.push(`its symbol is ${this.#symbol}; it is imported as ${baseId}/${quoteId}`);
    if (this.#format.isNewestFinal(this.#facts)) return { ...result, rows: this.#rows, covered: all, notes };
    notes.push(
      `its newest row, ${formatTime(this.#newestMs)}, is not imported: it may have been open when the file was made`,
    );
    const covered = subtract(all, [periodOf(this.#newestMs, interval)]);
    return { ...result, rows: this.#rows - 1, covered, notes };
  }
}
