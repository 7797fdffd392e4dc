/**
 * Candles as text. Tens of thousands of them as objects would be copied by every garbage collection while they wait for their
 * commit.
 */

import type { Candle } from '../v2/resources.ts';
import type { DecimalText } from './decimal.ts';
import type { EpochMs } from './intervals.ts';

/** In any order. */
export interface CandleLines {
  readonly length: number;
  readonly timesMs: readonly EpochMs[];
  /**
   * Holds open, high, low, close and volume of each time, as `decimalsAt` reads them. May hold more: it is the body of an answer
   * or a file, where these could be read from its bytes.
   */
  readonly text: Buffer;
  /** Where the decimals of each time start in the text. */
  readonly starts: readonly number[];
}

export function isCandleLines(rows: CandleLines | readonly unknown[]): rows is CandleLines {
  return 'timesMs' in rows;
}

export function candlesOf(rows: CandleLines | readonly Candle[]): readonly Candle[] {
  if (!isCandleLines(rows)) return rows;
  const { timesMs, text, starts } = rows;
  return timesMs.map((period, place) => {
    const [open, high, low, close, volume] = decimalsAt(text, starts[place] ?? 0, 5) as Decimals;
    return { open, high, low, close, volume, period };
  });
}

const [tab, newline, quote, comma, minus, nine] = [9, 10, 34, 44, 45, 57] as const;

export function isSeparator(byte: number | undefined): boolean {
  return byte === tab || byte === newline || byte === comma || byte === quote;
}

/** Where the next decimal starts, from here on. Keys of JSON before it hold no byte from `-` to `9`. */
export function nextDecimal(text: Buffer, from: number): number {
  let at = from;
  for (let byte = text[at] ?? minus; byte < minus || byte > nine; byte = text[at] ?? minus) at += 1;
  return at;
}

/** So many decimals from here on: each has a separator after it, and may have keys of JSON before it. */
export function decimalsAt(text: Buffer, start: number, count: number): DecimalText[] {
  const decimals: DecimalText[] = [];
  for (let end = start; decimals.length < count; ) {
    const from = nextDecimal(text, end);
    if (from === text.length) break;
    for (end = from; end < text.length && !isSeparator(text[end]); ) end += 1;
    decimals.push(text.toString('latin1', from, end) as DecimalText);
  }
  return decimals;
}

type Decimals = [DecimalText, DecimalText, DecimalText, DecimalText, DecimalText];
