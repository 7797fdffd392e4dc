/** Writes candles as lines of text, from the bytes of an answer, without an object for each. */

import type { CandleLines } from '../contract/candle-lines.ts';
import type { EpochMs } from '../contract/intervals.ts';
import type { Candle } from '../contract/resources.ts';
import { columns, endOf, isPossible, newPlaces, scanDecimal, startOf } from './plain-decimals.ts';

const [tab, newline] = [9, 10] as const;

/** A row's columns are copied in order, and it is kept. A row that is not kept leaves nothing. */
export function candleWriter(bytes: Buffer) {
  const timesMs: EpochMs[] = [];
  const starts: number[] = [];
  const row = newPlaces();
  // The lines are shorter than the answer.
  const text = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let end = 0;

  return {
    /** Copies the decimal that starts here as a column. @returns where it ends; -1 if none of the plain form starts here. */
    copy(from: number, column: number): number {
      if (column === 0) end = length;
      const to = scanDecimal(bytes, from, row, column);
      for (let at = from; at < to; at += 1) text[end++] = bytes[at] ?? 0;
      text[end++] = column === columns - 1 ? newline : tab;
      return to;
    },
    isPossible: () => isPossible(bytes, row),
    /** The copied decimals, with their time. */
    candle(timeMs: EpochMs): Candle {
      const decimal = (column: number) =>
        bytes.toString('latin1', startOf(row, column), endOf(row, column)) as Candle['open'];
      const [open, high, low, close, volume] = [0, 1, 2, 3, 4].map(decimal) as Decimals;
      return { open, high, low, close, volume, period: timeMs };
    },
    keep(timeMs: EpochMs): void {
      timesMs.push(timeMs);
      starts.push(length);
      length = end;
    },
    end: (): CandleLines => ({ length: timesMs.length, timesMs, starts, text: text.subarray(0, length) }),
  };
}

type Decimals = [Candle['open'], Candle['open'], Candle['open'], Candle['open'], Candle['open']];
