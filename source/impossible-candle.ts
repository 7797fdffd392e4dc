/** What no candle can be, whatever the market did. */

import { areAlike, compareDecimals, decimalText } from '../contract/decimal.ts';
import { type CandleInterval, isOnGrid } from '../contract/intervals.ts';
import type { Candle } from '../contract/resources.ts';

const zero = decimalText('0');

/** The reason why `candle` cannot be one of `interval`, or null. Every recorded candle of a real source passes. */
export function impossible(candle: Candle, interval: CandleInterval): string | null {
  const { open, high, low, close, volume, period } = candle;
  // The interface does not say on which day a week begins, so a week may begin on any.
  if (!isOnGrid(period, interval === 'w1' ? 'd1' : interval)) return `does not start a period of ${interval}`;
  if (isPlainlyPossible(candle)) return null;
  if (compareDecimals(high, low) < 0) return 'high is below low';
  if (compareDecimals(open, low) < 0) return 'open is below low';
  if (compareDecimals(open, high) > 0) return 'open is above high';
  if (compareDecimals(close, low) < 0) return 'close is below low';
  if (compareDecimals(close, high) > 0) return 'close is above high';
  if (volume.startsWith('-') && compareDecimals(volume, zero) < 0) return 'volume is negative';
  return null;
}

/** Whether all is well at a glance, as it nearly always is: as text, which costs a fifth. False says nothing. */
function isPlainlyPossible({ open, high, low, close, volume }: Candle): boolean {
  return (
    low <= open &&
    open <= high &&
    low <= close &&
    close <= high &&
    !volume.startsWith('-') &&
    areAlike([low, open, close, high])
  );
}
