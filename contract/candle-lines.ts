/**
 * Candles as text. Tens of thousands of them as objects would be copied by every garbage collection while they wait for their
 * commit.
 */

import type { DecimalText } from './decimal.ts';
import type { EpochMs } from './intervals.ts';
import type { Candle } from './resources.ts';

/** In any order. */
export interface CandleLines {
  readonly length: number;
  readonly timesMs: readonly EpochMs[];
  /** ASCII that holds open, high, low, close and volume of each time, as `decimalsAt` reads them. May hold more. */
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

const [tab, newline, comma] = [9, 10, 44] as const;

export function isSeparator(byte: number | undefined): boolean {
  return byte === tab || byte === newline || byte === comma;
}

/** So many decimals from here on: each has a separator after it. */
export function decimalsAt(text: Buffer, start: number, count: number): DecimalText[] {
  const decimals: DecimalText[] = [];
  let from = start;
  for (let at = start; at < text.length && decimals.length < count; at += 1) {
    if (!isSeparator(text[at])) continue;
    decimals.push(text.toString('latin1', from, at) as DecimalText);
    from = at + 1;
  }
  return decimals;
}

type Decimals = [DecimalText, DecimalText, DecimalText, DecimalText, DecimalText];
