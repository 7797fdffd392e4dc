/**
 * Writes candles as lines of text, from the bytes of an answer: in a fraction of the time of a pattern, and without an object
 * for each. It takes decimals in the form that sources use: without sign, exponent or leading zeros. The caller reads any
 * other row by JSON or a schema.
 */

import type { CandleLines } from '../contract/candle-lines.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { Candle } from '../contract/resources.ts';

const [tab, newline, point, zero, nine] = [9, 10, 46, 48, 57] as const;
/** As `isDecimalText` has it. */
const longestDecimal = 200;
/** The columns of a row, in the order of the lines. */
const [open, high, low, close, volume] = [0, 1, 2, 3, 4] as const;
const columns = 5;
/** Places of a decimal: its start, the end of its whole digits, its end. */
const places = 3;

export type CandleWriter = ReturnType<typeof candleWriter>;

/** A row is begun, its columns are copied in order, and it is kept. A row that is not kept leaves nothing. */
export function candleWriter() {
  const timesMs: EpochMs[] = [];
  const ends: number[] = [];
  const row = new Int32Array(columns * places);
  let text = Buffer.alloc(0);
  let length = 0;

  return {
    /** Makes room for lines that are at most as long as so many bytes of an answer. */
    reserve(bytes: number): void {
      if (length + bytes <= text.length) return;
      const larger = Buffer.allocUnsafe(Math.max(length + bytes, 2 * text.length));
      text.copy(larger, 0, 0, length);
      text = larger;
    },
    /** Copies the decimal that starts here as a column. @returns where it ends; -1 if none of the plain form starts here. */
    copy(bytes: Buffer, from: number, column: number): number {
      const start = column === open ? length : (row[column * places - 1] ?? 0) + 1;
      const end = copyDecimal(bytes, from, text, start, row, column * places);
      if (end >= 0) text[row[column * places + 2] ?? 0] = column === volume ? newline : tab;
      return end;
    },
    /** Whether the copied decimals are possible for a candle. False decides nothing: trailing zeros are not compared. */
    isPossible: () =>
      isAtMost(text, row, low, open) &&
      isAtMost(text, row, open, high) &&
      isAtMost(text, row, low, close) &&
      isAtMost(text, row, close, high),
    /** The copied decimals, with their time. */
    candle(timeMs: EpochMs): Candle {
      const decimal = (column: number) =>
        text.toString('latin1', row[column * places], row[column * places + 2]) as Candle['open'];
      return {
        open: decimal(open),
        high: decimal(high),
        low: decimal(low),
        close: decimal(close),
        volume: decimal(volume),
        period: timeMs,
      };
    },
    keep(timeMs: EpochMs): void {
      length = (row[volume * places + 2] ?? 0) + 1;
      timesMs.push(timeMs);
      ends.push(length);
    },
    /** Adds a candle that was read otherwise. */
    add({ open, high, low, close, volume, period }: Candle): void {
      const line = `${open}\t${high}\t${low}\t${close}\t${volume}\n`;
      this.reserve(line.length);
      length += text.write(line, length, 'latin1');
      timesMs.push(period);
      ends.push(length);
    },
    end: (): CandleLines => ({
      length: timesMs.length,
      timesMs,
      ends,
      text: text.subarray(0, length),
    }),
  };
}

/** @returns where the decimal ends; -1 if none starts at `from`. */
function copyDecimal(
  bytes: Buffer,
  from: number,
  text: Buffer,
  to: number,
  row: Int32Array,
  place: number,
): number {
  let at = from;
  let end = to;
  let byte = bytes[at] ?? 0;
  while (byte >= zero && byte <= nine) {
    text[end++] = byte;
    byte = bytes[++at] ?? 0;
  }
  const whole = at - from;
  if (whole === 0 || (whole > 1 && bytes[from] === zero)) return -1;
  row[place] = to;
  row[place + 1] = end;
  if (byte === point) {
    text[end++] = point;
    const fraction = ++at;
    byte = bytes[at] ?? 0;
    while (byte >= zero && byte <= nine) {
      text[end++] = byte;
      byte = bytes[++at] ?? 0;
    }
    if (at === fraction) return -1;
  }
  row[place + 2] = end;
  return at - from > longestDecimal ? -1 : at;
}

/** Whether column `a` is at most column `b`, as text. */
function isAtMost(text: Buffer, row: Int32Array, a: number, b: number): boolean {
  let at = row[a * places] ?? 0;
  let beside = row[b * places] ?? 0;
  const longer = (row[b * places + 1] ?? 0) - beside - ((row[a * places + 1] ?? 0) - at);
  if (longer !== 0) return longer > 0;
  const end = row[a * places + 2] ?? 0;
  const endBeside = row[b * places + 2] ?? 0;
  for (; at < end; at += 1, beside += 1) {
    if (beside >= endBeside) return false;
    const difference = (text[beside] ?? 0) - (text[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
