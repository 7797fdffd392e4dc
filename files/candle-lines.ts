/**
 * Reads lines of CSV as most programs write candles, from their bytes: a time in digits, decimals without a sign or an
 * exponent, a second volume that agrees with the first. No quotes, no blanks. Any other line is left to the caller.
 */

import { longestDecimal } from '../model/decimal.ts';
import type { EpochMs } from '../model/intervals.ts';
import { clearlyAgree } from '../model/turnover.ts';
import type { Columns, TimeUnit } from './candle-formats.ts';

const [newline, carriageReturn, quote, point, zero, nine, lastAscii] = [10, 13, 34, 46, 48, 57, 127] as const;
/** Digits of a time, and milliseconds in its unit. Of nanoseconds a number does not have all digits. */
const units: Partial<Record<TimeUnit, { readonly digits: number; readonly ms: number }>> = {
  seconds: { digits: 10, ms: 1000 },
  milliseconds: { digits: 13, ms: 1 },
  microseconds: { digits: 16, ms: 0.001 },
};
/** What a column holds, besides the values by their places. */
const [unread, turnover, time, close] = [-1, 5, 6, 7] as const;
const [high, low, volume] = [1, 2, 4] as const;

export interface LineForm {
  readonly columns: Columns;
  /** Columns of a line. */
  readonly count: number;
  readonly closeColumn: number | null;
  readonly unit: TimeUnit;
  readonly separator: string;
}

export class CandleLines {
  readonly #roles: Int8Array;
  readonly #separator: number;
  readonly #digits: number;
  readonly #unitMs: number;
  readonly #numbers = new Float64Array(6);
  readonly #hasTurnover: boolean;
  /** Of the line that was read last: where open, high, low, close and volume start. */
  readonly starts = new Int32Array(6);
  ms: EpochMs = 0;
  /** When its period ends by its own account, milliseconds with a fraction; NaN: unstated. */
  closeMs = Number.NaN;

  private constructor({ columns, count, closeColumn, separator }: LineForm, unit: { digits: number; ms: number }) {
    this.#roles = new Int8Array(count).fill(unread);
    for (const [value, column] of columns.values.entries()) this.#roles[column] = value;
    this.#hasTurnover = columns.turnover !== undefined;
    if (columns.turnover !== undefined) this.#roles[columns.turnover] = turnover;
    if (closeColumn !== null) this.#roles[closeColumn] = close;
    this.#roles[columns.time] = time;
    this.#separator = separator.charCodeAt(0);
    this.#digits = unit.digits;
    this.#unitMs = unit.ms;
  }

  /** @returns null for times of another form, and for columns that stand for two things. */
  static of(form: LineForm): CandleLines | null {
    const { time: timeColumn, values, turnover: turnoverColumn } = form.columns;
    const used = [timeColumn, ...values, turnoverColumn, form.closeColumn].filter((column) => column != null);
    const unit = units[form.unit];
    return unit === undefined || new Set(used).size < used.length ? null : new CandleLines(form, unit);
  }

  /** Reads the line that starts here, and ends with a line feed. @returns where the next one starts; -1: unread. */
  read(bytes: Buffer, from: number): number {
    let at = from;
    for (let column = 0; column < this.#roles.length; column += 1) {
      if (column > 0 && bytes[at++] !== this.#separator) return -1;
      const role = this.#roles[column] ?? unread;
      if (role === unread) at = this.#skip(bytes, at);
      else if (role < time) at = this.#readDecimal(bytes, at, role);
      else at = this.#readTime(bytes, at, role);
      if (at < 0) return -1;
    }
    if (bytes[at] === carriageReturn) at += 1;
    if (bytes[at] !== newline) return -1;
    const numbers = this.#numbers;
    const agree =
      !this.#hasTurnover ||
      clearlyAgree(numbers[low] ?? 0, numbers[high] ?? 0, numbers[volume] ?? 0, numbers[turnover] ?? 0);
    return agree ? at + 1 : -1;
  }

  #skip(bytes: Buffer, from: number): number {
    for (let at = from; ; at += 1) {
      const byte = bytes[at] ?? newline;
      if (byte === this.#separator || byte === newline || byte === carriageReturn) return at;
      if (byte === quote || byte > lastAscii) return -1;
    }
  }

  #readDecimal(bytes: Buffer, from: number, role: number): number {
    let at = from;
    let number = 0;
    let byte = bytes[at] ?? 0;
    for (; byte >= zero && byte <= nine; byte = bytes[++at] ?? 0) number = number * 10 + byte - zero;
    const whole = at - from;
    if (whole === 0 || (whole > 1 && bytes[from] === zero)) return -1;
    if (byte === point) {
      const fraction = ++at;
      byte = bytes[at] ?? 0;
      for (; byte >= zero && byte <= nine; byte = bytes[++at] ?? 0) number = number * 10 + byte - zero;
      if (at === fraction) return -1;
      number /= 10 ** (at - fraction);
    }
    this.starts[role] = from;
    this.#numbers[role] = number;
    return at - from > longestDecimal ? -1 : at;
  }

  #readTime(bytes: Buffer, from: number, role: number): number {
    const end = from + this.#digits;
    let number = 0;
    for (let at = from; at < end; at += 1) {
      const digit = (bytes[at] ?? 0) - zero;
      if (digit < 0 || digit > 9) return -1;
      number = number * 10 + digit;
    }
    const byte = bytes[end] ?? 0;
    const ms = this.#unitMs < 1 ? number / 1000 : number * this.#unitMs;
    if (bytes[from] === zero || (byte >= zero && byte <= nine)) return -1;
    if (role === close) this.closeMs = ms;
    else if (Number.isInteger(ms)) this.ms = ms;
    else return -1;
    return end;
  }
}
