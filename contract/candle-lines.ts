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
  /** A line for each time: open, high, low, close and volume, separated by tabs. ASCII. */
  readonly text: Buffer;
  /** Where each line ends in the text, exclusive, its newline included. */
  readonly ends: readonly number[];
}

export function isCandleLines(rows: CandleLines | readonly unknown[]): rows is CandleLines {
  return 'timesMs' in rows;
}

export function candlesOf(rows: CandleLines | readonly Candle[]): readonly Candle[] {
  if (!isCandleLines(rows)) return rows;
  const { timesMs, text } = rows;
  const lines = text.toString('latin1').split('\n');
  return timesMs.map((period, place) => {
    const [open, high, low, close, volume] = (lines[place] ?? '').split('\t') as Decimals;
    return { open, high, low, close, volume, period };
  });
}

type Decimals = [DecimalText, DecimalText, DecimalText, DecimalText, DecimalText];
