/** Exact arithmetic on the simulator's 16-digit texts, apart from the code under test. */

import type { CandleInterval } from '../../model/datasets/candles.ts';
import type { CandleSeries } from '../../model/series.ts';
import type { Candle } from '../../v2/resources.ts';

export function exact(text: string): bigint {
  if (!/^\d+\.\d{16}$/.test(text)) throw new RangeError(`not 16 fraction digits: ${text}`);
  return BigInt(text.replace('.', ''));
}

/** The candle of several, ascending. */
export function merged(rows: readonly Candle[]): { [name in keyof Omit<Candle, 'period'>]: bigint } {
  const [first] = rows;
  const last = rows.at(-1);
  if (first === undefined || last === undefined) throw new RangeError('no candles to merge');
  return {
    open: exact(first.open),
    high: ordered(rows.map((row) => exact(row.high))).at(-1) ?? 0n,
    low: ordered(rows.map((row) => exact(row.low))).at(0) ?? 0n,
    close: exact(last.close),
    volume: rows.map((row) => exact(row.volume)).reduce((a, b) => a + b),
  };
}

function ordered(values: bigint[]): bigint[] {
  return values.toSorted((a, b) => Number(a - b));
}

export function candleSeries(market: string, interval: CandleInterval): CandleSeries {
  const [exchange = '', baseId = '', quoteId = ''] = market.split(/[ /]/);
  return { dataset: 'candles', exchange, baseId, quoteId, interval };
}
