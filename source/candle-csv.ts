/**
 * Reads candles from CSV, byte by byte: in a fraction of a pattern's time, and without an object for each. A line that is
 * not as venues write it (a sign, an exponent, impossible values) is left to the caller.
 */

import type { CandleLines } from '../contract/candle-lines.ts';
import { type CandleInterval, type EpochMs, isOnGrid } from '../contract/intervals.ts';
import type { Candle } from '../contract/resources.ts';
import type { Range } from '../planning/ranges.ts';

/** Lines of time, open, high, low, close, volume, and columns that are not read. */
export interface CsvForm {
  readonly columns: number;
  /** Digits of a UNIX time: 13 in milliseconds, 16 in microseconds. */
  readonly timeDigits: 13 | 16;
  readonly interval: CandleInterval;
  /** Lines of other times are left out. */
  readonly range: Range;
}

const [tab, newline, comma, point, zero, nine] = [9, 10, 44, 46, 48, 57] as const;
/** As `isDecimalText` has it. */
const longestDecimal = 200;

/** Takes pieces of whole lines, and single candles; ends with all of them. */
export function candleCsv({ columns, timeDigits, interval, range }: CsvForm) {
  const timesMs: EpochMs[] = [];
  const ends: number[] = [];
  const pieces: Buffer[] = [];
  let size = 0;
  const [open, high, low, close, volume] = [decimal(), decimal(), decimal(), decimal(), decimal()];

  /** @returns whether the line has the expected form; its decimals are then known. */
  function scan(bytes: Buffer, from: number, end: number): boolean {
    let at = from;
    for (const value of [open, high, low, close, volume]) {
      if (!value.read(bytes, at) || bytes[value.end] !== comma) return false;
      at = value.end + 1;
    }
    let commas = 6;
    for (; at < end; at += 1) if (bytes[at] === comma) commas += 1;
    return (
      commas === columns - 1 &&
      isAtMost(bytes, low, open) &&
      isAtMost(bytes, open, high) &&
      isAtMost(bytes, low, close) &&
      isAtMost(bytes, close, high)
    );
  }

  return {
    /** Overwrites the piece. @returns the lines of another form. */
    read(piece: Buffer): string[] {
      const others: string[] = [];
      let length = 0;
      for (let from = 0; from < piece.length; ) {
        const found = piece.indexOf(newline, from);
        const end = found === -1 ? piece.length : found;
        const timeMs = readTime(piece, from, timeDigits);
        const first = from + timeDigits + 1;
        if (!isOnGrid(timeMs, interval) || !scan(piece, first, end))
          others.push(piece.toString('latin1', from, end));
        else if (timeMs >= range.startMs && timeMs < range.endMs) {
          for (const value of [open, high, low, close]) piece[value.end] = tab;
          piece.copyWithin(length, first, volume.end);
          length += volume.end - first;
          piece[length] = newline;
          length += 1;
          timesMs.push(timeMs);
          ends.push(size + length);
        }
        from = end + 1;
      }
      size += length;
      pieces.push(piece.subarray(0, length));
      return others;
    },
    add(candle: Candle): void {
      const line = Buffer.from(
        `${candle.open}\t${candle.high}\t${candle.low}\t${candle.close}\t${candle.volume}\n`,
      );
      size += line.length;
      timesMs.push(candle.period);
      ends.push(size);
      pieces.push(line);
    },
    end: (): CandleLines => ({ length: timesMs.length, timesMs, ends, text: Buffer.concat(pieces, size) }),
  };
}

/** @returns milliseconds; NaN for anything but so many digits and a comma. */
function readTime(bytes: Buffer, from: number, digits: CsvForm['timeDigits']): number {
  let time = 0;
  for (let at = from; at < from + digits; at += 1) {
    const digit = (bytes[at] ?? 0) - zero;
    if (digit < 0 || digit > 9) return Number.NaN;
    time = time * 10 + digit;
  }
  return bytes[from + digits] === comma ? time / (digits === 16 ? 1000 : 1) : Number.NaN;
}

/** A place for one decimal of a line: where it starts, where its whole digits end, and where it ends. */
function decimal() {
  return {
    start: 0,
    wholeEnd: 0,
    end: 0,
    /** @returns whether a decimal without sign, exponent or leading zeros starts here. */
    read(bytes: Buffer, from: number): boolean {
      this.start = from;
      this.wholeEnd = digitsEnd(bytes, from);
      this.end = bytes[this.wholeEnd] === point ? digitsEnd(bytes, this.wholeEnd + 1) : this.wholeEnd;
      const whole = this.wholeEnd - from;
      const hasDigits = whole > 0 && (bytes[from] !== zero || whole === 1) && this.end !== this.wholeEnd + 1;
      return hasDigits && this.end - from <= longestDecimal;
    },
  };
}

type Decimal = Readonly<Pick<ReturnType<typeof decimal>, 'start' | 'wholeEnd' | 'end'>>;

function digitsEnd(bytes: Buffer, from: number): number {
  let at = from;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < zero || byte > nine) break;
  }
  return at;
}

/** Whether a ≤ b. False decides nothing: trailing zeros are not looked at. */
function isAtMost(bytes: Buffer, a: Decimal, b: Decimal): boolean {
  const longer = b.wholeEnd - b.start - (a.wholeEnd - a.start);
  if (longer !== 0) return longer > 0;
  for (let at = a.start, beside = b.start; at < a.end; at += 1, beside += 1) {
    if (beside >= b.end) return false;
    const difference = (bytes[beside] ?? 0) - (bytes[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
