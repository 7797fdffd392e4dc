/**
 * Reads candles from CSV, byte by byte: in a fraction of a pattern's time, and without an object for each. A line that is
 * not as venues write it (a sign, an exponent, impossible values) is left to the caller.
 */

import { type CandleInterval, isOnGrid } from '../contract/intervals.ts';
import type { Candle } from '../contract/resources.ts';
import type { Range } from '../planning/ranges.ts';
import { candleWriter } from './candle-writer.ts';

/** Lines of time, open, high, low, close, volume, and columns that are not read. */
export interface CsvForm {
  readonly columns: number;
  /** Digits of a UNIX time: 13 in milliseconds, 16 in microseconds. */
  readonly timeDigits: 13 | 16;
  readonly interval: CandleInterval;
  /** Lines of other times are left out. */
  readonly range: Range;
}

const [newline, comma, zero] = [10, 44, 48] as const;

/** Takes pieces of whole lines, and single candles; ends with all of them. */
export function candleCsv({ columns, timeDigits, interval, range }: CsvForm) {
  const candles = candleWriter();

  /** @returns whether the line has the expected form; its decimals are then copied. */
  function scan(bytes: Buffer, from: number, end: number): boolean {
    let at = from;
    for (let column = 0; column < 5; column += 1) {
      at = candles.copy(bytes, at, column);
      if (at < 0 || bytes[at] !== comma) return false;
      at += 1;
    }
    let commas = 6;
    for (; at < end; at += 1) if (bytes[at] === comma) commas += 1;
    return commas === columns - 1 && candles.isPossible();
  }

  return {
    /** @returns the lines of another form. */
    read(piece: Buffer): string[] {
      const others: string[] = [];
      candles.reserve(piece.length);
      for (let from = 0; from < piece.length; ) {
        const found = piece.indexOf(newline, from);
        const end = found === -1 ? piece.length : found;
        const timeMs = readTime(piece, from, timeDigits);
        if (!isOnGrid(timeMs, interval) || !scan(piece, from + timeDigits + 1, end))
          others.push(piece.toString('latin1', from, end));
        else if (timeMs >= range.startMs && timeMs < range.endMs) candles.keep(timeMs);
        from = end + 1;
      }
      return others;
    },
    add: (candle: Candle): void => candles.add(candle),
    end: candles.end,
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
