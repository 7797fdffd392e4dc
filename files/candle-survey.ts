/** Surveys the rows of a candle file of another program, before anything of it is stored. */

import { isDecimalText } from '../model/decimal.ts';
import { counted, formatSpan, formatTime } from '../model/format.ts';
import { type EpochMs, intervalMs, isOnGrid, minuteMs, type Range } from '../model/intervals.ts';
import { parseQuote } from '../model/market.ts';
import { holds, normalize, subtract } from '../model/ranges.ts';
import type { CandleSeries } from '../model/series.ts';
import { type Traded, turnoverProblem } from '../model/turnover.ts';
import { periodOf } from '../planning/periods.ts';
import { isLongSilence } from '../planning/silences.ts';
import {
  type CandleFormat,
  type Cells,
  type Columns,
  type NameFacts,
  plain,
  symbolText,
  type TimeUnit,
} from './candle-formats.ts';
import { CandleLines } from './candle-lines.ts';
import type { CandleRecord } from './candle-records.ts';
import { downloadAgain, FileProblem } from './file-problem.ts';

/**
 * Why the two volumes of a row contradict one another; null: they agree, or there is one.
 *
 * @param exchanged: if they were.
 */
export function volumesProblem(cells: Cells, { values, turnover: place }: Columns, exchanged = false): string | null {
  if (place === undefined) return null;
  const [, high = '', low = '', , first = ''] = values.map((at) => cells[at] ?? '');
  const second = cells[place] ?? '';
  const [volume, turnover] = exchanged ? [second, first] : [first, second];
  const traded = { low, high, volume, turnover };
  const areDecimals = Object.values(traded).every((text) => text !== undefined && isDecimalText(text));
  return areDecimals ? turnoverProblem(traded as Traded) : null;
}

/** Rows one after the other whose two volumes agree only if they are exchanged. */
interface Stretch {
  readonly first: string;
  last: string;
  rows: number;
}
/** Fewer rows may be wrong otherwise, and agree by chance. */
const shortestStretch = 3;
const maxStretches = 3;

/** A name of a column. A rounded time such as `1.78E+12` is none. */
const columnName = /^\D*[a-z]/i;
const rounded = /^\d+(?:[.,]\d+)?E\+?\d+$/i;
/**
 * A value as a spreadsheet saves it, such as `1.23457E+12`: a capital E, a plus, two digits, and at most six digits
 * before them. Programs write `1e+16` (Python, JavaScript), `1.23457E12` (Java), or all digits before `E+16` (.NET).
 * `2.12E-05` is no sign of a spreadsheet: .NET writes small numbers so.
 */
const roundedValue = /^-?\d(?:[.,]\d{1,5})?E\+\d\d$/;
/** With a decimal comma, or commas between thousands. */
const withComma = /^-?\d[\d.]*,[\d.,]*$/;
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const otherLayout = 'its layout changes at this line';
const divide = 'divide it there, and import each part';
const checkFormat = 'check --format';
const nameColumns = 'name its columns with --columns';
/** The beginning of an array or of an object, not of a line of CSV. */
const beginsAsJson = /^\s*[[{]\s*(?:[[{"\d]|$)/;
const checkInterval = 'check --interval';

function roundedProblem(what: 'times' | 'values', text: string | null): FileProblem {
  return new FileProblem(
    `a spreadsheet rounded its ${what}, here to ${text}: digits are lost`,
    `${downloadAgain}, and import it without saving it in a spreadsheet`,
  );
}

/** Columns, unit, grid and order of the times of a file, and what it covers. */
export class CandleSurvey {
  readonly #series: CandleSeries;
  readonly #format: CandleFormat;
  readonly #facts: NameFacts;
  /** Records before the first row. */
  #heading = 0;
  #columns: Columns | null;
  #rows = 0;
  /** The row before, and how many rows follow an equal one. */
  #last: Cells | (() => Cells) = [];
  #repeats = 0;
  /** Of columns. */
  #count: number | null;
  /** The record before has too few columns. If it is the last one, the file was truncated. */
  #torn: { place: string; what: string } | null = null;
  /** The last row, if it may be cut. */
  #cutAt: string | null = null;
  #isDescending: boolean | null;
  #unit: TimeUnit | null = null;
  #symbol: string | null = null;
  #lastMs: EpochMs | null = null;
  #newestMs = 0;
  #hasNeighbours = false;
  /** Completed ranges, and the current one. */
  readonly #ranges: Range[] = [];
  readonly #exchanged: Stretch[] = [];
  #stretch: Stretch | null = null;
  /** Of a format in which a period without a row had no trade: those that may be long, and the time of all. */
  readonly #silences: Range[] = [];
  #silentMs = 0;
  #range: Range | null = null;

  constructor(format: CandleFormat, series: CandleSeries, fileName: string) {
    this.#series = series;
    this.#format = format;
    this.#columns = format.columns;
    this.#count = format.columns?.count ?? null;
    this.#isDescending = format.isDescending;
    this.#facts = format.nameFacts(fileName);
    const statedMs = this.#facts.intervalMs;
    if (statedMs !== null && statedMs !== intervalMs[series.interval])
      throw new FileProblem(`its name states another interval than ${series.interval}`, checkInterval);
  }

  /** @throws FileProblem with the line. */
  add({ place, cells, mayBeCut = false }: CandleRecord): void {
    if (this.#torn !== null) throw new FileProblem(`${this.#torn.place}: ${this.#torn.what}: ${otherLayout}`, divide);
    if (mayBeCut) this.#cutAt = place;
    try {
      if (this.#rows === 0) this.#assertCsv(cells);
      if (this.#rows === 0 && this.#isHeading(cells)) this.#heading += 1;
      else if (this.#hasItsColumns(place, cells)) this.#addRow(cells);
      this.#watchVolumes(place, cells);
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      throw new FileProblem(`${place}: ${error.message}`, error.remedy, { cause: error });
    }
  }

  /** What reads lines like those before from their bytes; null: nothing does. @param separator of their fields. */
  linesLikeThese(separator: string): CandleLines | null {
    const [columns, unit, count, { dateText, symbol, closeColumn }] = [
      ...([this.#columns, this.#unit, this.#count, this.#format] as const),
    ];
    const isPlain = dateText === plain.dateText && symbol === plain.symbol;
    if (!isPlain || this.#isDescending !== false || columns === null || unit === null || count === null) return null;
    return CandleLines.of({ columns, unit, count, closeColumn, separator });
  }

  /**
   * Adds a row as {@link add} does.
   *
   * @param cellsOf the line. @returns false if it may break a rule, and is not added.
   */
  addLine({ ms, closeMs }: CandleLines, cellsOf: () => Cells): boolean {
    const { interval } = this.#series;
    const { range } = this.#facts;
    const lengthMs = intervalMs[interval];
    if (this.#torn !== null || this.#lastMs === null || ms <= this.#lastMs || !isOnGrid(ms, interval)) return false;
    if (closeMs >= ms + lengthMs || (range !== null && !holds([range], ms))) return false;
    this.#stretch = null;
    this.#last = cellsOf;
    this.#pass(ms);
    return true;
  }

  /** `--columns` reads CSV only. */
  get #checkFormat(): string {
    return this.#format.syntax === 'json' ? checkFormat : `${checkFormat}, or ${nameColumns}`;
  }

  #assertCsv([first, ...others]: Cells): void {
    const { name, syntax } = this.#format;
    if (syntax === 'json') return;
    if (beginsAsJson.test(first ?? ''))
      throw new FileProblem(`it is JSON, and ${name} reads CSV`, 'import arrays of numbers with --format ccxt-json');
    if (others.length > 0 || !/[;\t]/.test(first ?? '')) return;
    throw new FileProblem(
      'its fields are separated by semicolons or tabs, as a spreadsheet saves them',
      `${downloadAgain}, and import it without saving it in a spreadsheet, or ${nameColumns}`,
    );
  }

  /** @returns false for a row that is not whole, if it is the last one. */
  #hasItsColumns(place: string, cells: Cells): boolean {
    this.#count ??= cells.length;
    const count = this.#count;
    const isHeader = this.#rows > 0 && columnName.test(cells[this.#columns?.time ?? 0] ?? '');
    if (isHeader && this.#format.syntax === 'csv')
      throw new FileProblem(`it is another header, ${cells.join().slice(0, 200)}: ${otherLayout}`, divide);
    if (cells.length === count) return true;
    const what = `it has ${counted(cells.length, 'column')}, not ${count}`;
    if (this.#rows === 0) throw new FileProblem(what, this.#checkFormat);
    if (cells.length > count) throw new FileProblem(`${what}: ${otherLayout}`, divide);
    this.#torn = { place, what };
    return false;
  }

  #watchVolumes(place: string, cells: Cells): void {
    const columns = this.#columns;
    if (columns === null || this.#rows === 0 || this.#torn !== null) return;
    const isExchanged = volumesProblem(cells, columns) !== null && volumesProblem(cells, columns, true) === null;
    if (!isExchanged) this.#stretch = null;
    else if (this.#stretch === null) {
      this.#stretch = { first: place, last: place, rows: 1 };
      this.#exchanged.push(this.#stretch);
    } else {
      this.#stretch.last = place;
      this.#stretch.rows += 1;
    }
  }

  /** Such as `its two volumes seem exchanged from line 3 to line 40, and in 2 more`. */
  #exchangedNote(): string[] {
    const long = this.#exchanged.filter(({ rows }) => rows >= shortestStretch);
    if (long.length === 0) return [];
    const named = long.slice(0, maxStretches).map(({ first, last }) => `from ${first} to ${last}`);
    const more = long.length > maxStretches ? `, and in ${long.length - maxStretches} more` : '';
    return [`its two columns of volume seem exchanged ${named.join(', ')}${more}`];
  }

  /** Such as of the file of a day whose last row is that of 20:59. */
  #shortNote(all: readonly Range[]): string[] {
    const statedMs = this.#facts.range?.endMs ?? Number.NEGATIVE_INFINITY;
    const endMs = all.at(-1)?.endMs ?? statedMs;
    return endMs < statedMs
      ? [`its name states the time up to ${formatTime(statedMs)}, and its rows end at ${formatTime(endMs)}`]
      : [];
  }

  /** Many programs write no last line end. Where the last column is not stored, a row with all columns is whole. */
  #cutNote({ time, values }: Columns): string[] {
    return this.#cutAt !== null && [time, ...values].includes((this.#count ?? 0) - 1)
      ? [`the file ends without a line end: its last row, ${this.#cutAt}, may be cut`]
      : [];
  }

  #isHeading(cells: Cells): boolean {
    if (this.#heading === 0 && this.#format.isComment(cells)) return true;
    if (this.#columns !== this.#format.columns) return false;
    if (this.#columns !== null && !columnName.test(cells[this.#columns.time] ?? '')) return false;
    const columns = this.#format.header(cells);
    if (columns === null)
      throw new FileProblem(
        `unknown columns for ${this.#format.name}: ${cells.join().slice(0, 200)}`,
        this.#checkFormat,
      );
    this.#columns = columns;
    this.#count = columns.count;
    return true;
  }

  #addRow(cells: Cells): void {
    const { interval } = this.#series;
    const text = cells[this.#columns?.time ?? 0] ?? null;
    const ms = this.#timeOf(text);
    const isLate = this.#format.mayBeginLate && ms % minuteMs !== 0;
    if (!isOnGrid(ms, interval) && !isLate) throw this.#offGrid(ms, text);
    const { range } = this.#facts;
    if (range !== null && !holds([range], ms))
      throw new FileProblem(
        `${formatTime(ms)} lies outside of the time that the name of the file states`,
        `give it the name that it had, or ${downloadAgain}`,
      );
    if (ms === this.#lastMs && this.#isLast(cells)) {
      this.#repeats += 1;
      return;
    }
    this.#last = cells;
    this.#assertOrder(ms);
    this.#assertClose(cells, ms);
    this.#assertDate(this.#format.dateText(cells), ms);
    this.#assertSymbol(this.#format.symbol(cells));
    this.#assertValues(cells);
    this.#pass(ms);
  }

  #isLast(cells: Cells): boolean {
    const last = typeof this.#last === 'function' ? this.#last() : this.#last;
    return cells.every((cell, at) => cell === last[at]);
  }

  #pass(ms: EpochMs): void {
    const { interval } = this.#series;
    this.#cover(periodOf(ms, interval));
    this.#hasNeighbours ||= this.#lastMs !== null && Math.abs(ms - this.#lastMs) === intervalMs[interval];
    this.#watchSilence(ms);
    this.#newestMs = Math.max(this.#newestMs, ms);
    this.#lastMs = ms;
    this.#rows += 1;
  }

  #offGrid(ms: EpochMs, text: string | null): FileProblem {
    const { interval } = this.#series;
    const what = `${formatTime(ms)}, from ${text} as ${this.#unit}, does not start a period of ${interval}`;
    // Of another week, all rows are such.
    if (interval === 'w1' && isOnGrid(ms, 'd1'))
      return new FileProblem(
        `${what}: weeks begin on Monday, and it is a ${days[new Date(ms).getUTCDay()]}`,
        'import its days with --interval d1: weeks are derived from them',
      );
    return new FileProblem(what, 'check --interval, the unit and the time zone of its times');
  }

  #watchSilence(ms: EpochMs): void {
    if (!this.#format.isAbsenceNoTrade || this.#lastMs === null) return;
    const silence = { startMs: this.#lastMs + intervalMs[this.#series.interval], endMs: ms };
    const silentMs = silence.endMs - silence.startMs;
    this.#silentMs += silentMs;
    if (isLongSilence(silentMs, { othersMs: 0, points: Number.POSITIVE_INFINITY })) this.#silences.push(silence);
  }

  #silenceNotes(): string[] {
    const long = this.#silences.filter(({ startMs, endMs }) => {
      const silentMs = endMs - startMs;
      return isLongSilence(silentMs, { othersMs: this.#silentMs - silentMs, points: this.#rows });
    });
    if (long.length === 0) return [];
    const named = long.slice(0, maxStretches).map(formatSpan);
    const more = long.length > maxStretches ? `, and in ${long.length - maxStretches} more stretches` : '';
    return [`it has no row ${named.join(', ')}${more}: no trade, as its format states, and unusual here`];
  }

  #timeOf(text: string | null): EpochMs {
    const { units, name, syntax } = this.#format;
    const time = this.#format.readTime(text);
    const expected = units.join(' or ');
    if (time === null && syntax === 'csv' && rounded.test(text ?? '')) throw roundedProblem('times', text);
    if (time === null || !Number.isSafeInteger(time.ms)) {
      const what = `${JSON.stringify(text)} is not a time in ${expected}`;
      if (this.#rows === 0 || syntax === 'json') throw new FileProblem(what, this.#checkFormat);
      throw new FileProblem(`${what}: ${otherLayout}`, divide);
    }
    if (!units.includes(time.unit))
      throw new FileProblem(`its time ${text} is in ${time.unit}, and ${name} has ${expected}`, this.#checkFormat);
    this.#unit ??= time.unit;
    if (time.unit !== this.#unit)
      throw new FileProblem(
        `its time ${text} is in ${time.unit}, and that of the rows before in ${this.#unit}: ${otherLayout}`,
        divide,
      );
    return time.ms;
  }

  #assertOrder(ms: EpochMs): void {
    const lastMs = this.#lastMs;
    if (lastMs === null) return;
    this.#isDescending ??= ms < lastMs;
    const isDescending = this.#isDescending;
    if (isDescending ? ms < lastMs : ms > lastMs) return;
    throw new FileProblem(
      `${formatTime(ms)} is not ${isDescending ? 'before' : 'after'} the row above it, ${formatTime(lastMs)}`,
      `sort its rows by time, each time once, or ${downloadAgain}`,
    );
  }

  #assertClose(cells: Cells, ms: EpochMs): void {
    const { closeColumn } = this.#format;
    if (closeColumn === null) return;
    const text = cells[closeColumn] ?? '';
    const close = this.#format.readTime(text);
    const { interval } = this.#series;
    if (close === null || close.unit !== this.#unit)
      throw new FileProblem(`its close time ${JSON.stringify(text)} is not a time in ${this.#unit}`, this.#checkFormat);
    // It may be earlier: an outage ends a period.
    if (close.ms >= ms + intervalMs[interval])
      throw new FileProblem(`it closes at ${formatTime(close.ms)}, after ${interval}`, checkInterval);
  }

  /** A date alone is that of the day. */
  #assertDate(text: string | null, ms: EpochMs): void {
    if (text === null || new Date(ms).toISOString().replace('T', ' ').startsWith(text)) return;
    throw new FileProblem(`its date ${text} is not its time, ${formatTime(ms)}`, downloadAgain);
  }

  #assertSymbol(text: string | null): void {
    if (text === null) return;
    this.#symbol ??= text;
    if (text !== this.#symbol)
      throw new FileProblem(
        `its symbol is ${text}, and that of the rows before ${this.#symbol}: the file has two markets`,
        'divide it by market, and import each part in a call of its own',
      );
    const volumeOf = this.#columns?.volumeOf ?? '';
    if (!text.startsWith(volumeOf))
      throw new FileProblem(
        `its symbol is ${text}, and the first volume is counted in ${volumeOf}`,
        `${nameColumns}, the volume of the base asset among them`,
      );
  }

  #assertValues(cells: Cells): void {
    if (this.#columns === null || this.#format.syntax === 'json') return;
    const { values, turnover } = this.#columns;
    const texts = [...values, ...(turnover === undefined ? [] : [turnover])].map((at) => cells[at] ?? '');
    const roundedText = texts.find((text) => roundedValue.test(text));
    if (roundedText !== undefined) throw roundedProblem('values', roundedText);
    const commaText = texts.find((text) => withComma.test(text));
    if (commaText !== undefined)
      throw new FileProblem(
        `its numbers have commas, here ${commaText}`,
        'write decimals with points, and thousands without commas',
      );
  }

  #cover(period: Range): void {
    const range = this.#range;
    const joins =
      range !== null &&
      (this.#format.isAbsenceNoTrade || (period.startMs <= range.endMs && range.startMs <= period.endMs));
    if (range !== null && !joins) this.#ranges.push(range);
    this.#range = joins
      ? { startMs: Math.min(range.startMs, period.startMs), endMs: Math.max(range.endMs, period.endMs) }
      : period;
  }

  end() {
    const { interval, baseId, quoteId } = this.#series;
    const columns = this.#columns;
    if (this.#torn !== null)
      throw new FileProblem(`${this.#torn.place}: ${this.#torn.what}: the file ends within this row`, downloadAgain);
    if (columns === null || this.#range === null || this.#unit === null)
      throw new FileProblem('it has no rows', 'leave it out');
    // Hours that are named minutes begin on the grid of minutes, too.
    if (this.#rows > 1 && !this.#hasNeighbours && this.#facts.intervalMs === null)
      throw new FileProblem(`no two rows are one ${interval} apart`, checkInterval);
    const all = normalize([...this.#ranges, this.#range]);
    const isNewestOpen = !this.#format.isNewestFinal(this.#facts);
    const result = {
      rows: this.#rows,
      /** Of its times. */
      unit: this.#unit,
      /** The market that its rows or its name state, as {@link symbolText}; null: neither does. */
      market: this.#symbol ?? this.#facts.market,
      /** The newest row may have been open when the file was made. It is not covered. */
      isNewestOpen,
      newestMs: this.#newestMs,
      /** Records before the first row, and from there on: a row may follow itself. */
      ...{ heading: this.#heading, records: this.#rows + this.#repeats },
      ...{ columns, isDescending: this.#isDescending ?? false },
    };
    /** Facts that the user should know. */
    const notes = [...this.#exchangedNote(), ...this.#silenceNotes(), ...this.#shortNote(all)];
    notes.push(...this.#cutNote(columns));
    if (this.#repeats > 0)
      notes.push(`${counted(this.#repeats, 'row')} ${this.#repeats === 1 ? 'is' : 'are'} given twice, equal`);
    if (this.#symbol !== null && this.#symbol !== symbolText(baseId + parseQuote(quoteId).asset))
      notes.push(`its symbol is ${this.#symbol}; it is imported as ${baseId}/${quoteId}`);
    if (!isNewestOpen) return { ...result, covered: all, notes };
    // Nor is it said to be stored: it may be rejected.
    notes.push(
      `its newest row, ${formatTime(this.#newestMs)}, is not covered: it may have been open when the file was made`,
    );
    return { ...result, covered: subtract(all, [periodOf(this.#newestMs, interval)]), notes };
  }
}
