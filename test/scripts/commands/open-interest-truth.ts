import { productOf } from '../../../model/decimal.ts';
import { dayMs, type Interval, intervalMs, type Range } from '../../../model/intervals.ts';
import { perpetualCandle, positionsAt } from '../../../simulator/derivatives.ts';
import { eightDecimals } from '../../../simulator/venues/binance-usdm.ts';
import type { RunningVenueSimulator } from '../../../simulator/venues/start.ts';

const spot = { dataset: 'candles', exchange: 'binance', baseId: 'bitcoin', quoteId: 'tether', interval: 'm5' } as const;

/** Candles of five minutes of the mark price of a perpetual of bitcoin, also of those without a trade. */
export function marksOf({ truth }: RunningVenueSimulator, { startMs, endMs }: Range, symbol = 'BTCUSDT') {
  const traded = truth.candles(spot, { startMs: startMs - dayMs, endMs });
  const byTime = new Map(traded.map(({ volume: _, ...row }) => [row.period, perpetualCandle(symbol, row)]));
  const rows: (typeof byTime extends Map<number, infer Row> ? Row : never)[] = [];
  for (let period = startMs - dayMs; period < endMs; period += intervalMs.m5) {
    const close = rows.at(-1)?.close;
    const row = byTime.get(period) ?? (close && { period, open: close, high: close, low: close, close });
    if (row) rows.push(row);
  }
  return rows.filter(({ period }) => period >= startMs);
}

/** Open interest of a perpetual of bitcoin, and its value at the mark price of each time. */
export function openInterestOf(venue: RunningVenueSimulator, range: Range, interval: Interval, symbol = 'BTCUSDT') {
  return marksOf(venue, range, symbol)
    .filter(({ period }) => (period - range.startMs) % intervalMs[interval] === 0)
    .map(({ period: time, open }) => {
      const { amount } = positionsAt(symbol, time);
      return { time, amount, value: eightDecimals(productOf(amount, open)) };
    });
}
