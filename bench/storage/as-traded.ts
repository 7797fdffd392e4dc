/**
 * Candles with the digits of traded prices: the simulator's values are random to the last digit, unlike any market's.
 */

import { type DecimalText, decimalText } from '../../model/decimal.ts';
import type { CandleSeries } from '../../model/series.ts';
import type { Candle } from '../../v2/resources.ts';

/** Fraction digits in the answers. Those beyond the traded ones are zeros. */
const sentDigits = 16;
const volumeDigits = 5;

/** Prices to 2 decimals, in bitcoin to 6, of coins of a few cents to 4; volumes to 5. All are sent with 16. */
export function asTraded(series: CandleSeries, candle: Candle): Candle {
  const digits = series.quoteId === 'bitcoin' ? 6 : series.baseId === 'xrp' ? 4 : 2;
  return {
    ...candle,
    open: cut(candle.open, digits),
    high: cut(candle.high, digits),
    low: cut(candle.low, digits),
    close: cut(candle.close, digits),
    volume: cut(candle.volume, volumeDigits),
  };
}

function cut(value: DecimalText, digits: number): DecimalText {
  const [whole = '0', fraction = ''] = value.split('.');
  return decimalText(`${whole}.${fraction.slice(0, digits).padEnd(sentDigits, '0')}`);
}
