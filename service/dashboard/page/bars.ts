/** What is held of a series as the chart's bars, and what is said of them. */

import type { CandlestickData, LineData, Time, UTCTimestamp, WhitespaceData } from 'lightweight-charts';
import type { Loaded } from './loaded.ts';

export function secondsOf(timeMs: number): UTCTimestamp {
  return (timeMs / 1000) as UTCTimestamp;
}

/** Every period of the piece, those without a value as empty places: time then runs evenly. */
export function barsOf({
  rows,
  startMs,
  endMs,
  periodMs,
}: Loaded): (CandlestickData | LineData | WhitespaceData<Time>)[] {
  const bars = [];
  for (let timeMs = startMs; timeMs < endMs; timeMs += periodMs) {
    const row = rows.get(timeMs);
    const time = secondsOf(timeMs);
    if (row === undefined) bars.push({ time });
    else if (row.length === 2) bars.push({ time, value: Number(row[1]) });
    else
      bars.push({
        time,
        open: Number(row[1]),
        high: Number(row[2]),
        low: Number(row[3]),
        close: Number(row[4]),
      });
  }
  return bars;
}

/** As many decimals on the scale as tell values of this size apart. */
export function formatFor({ rows }: Loaded) {
  let largest = 0;
  for (const row of rows.values()) largest = Math.max(largest, Math.abs(Number(row[row.length > 2 ? 2 : 1])));
  const precision = largest === 0 ? 2 : Math.min(12, Math.max(2, 4 - Math.floor(Math.log10(largest))));
  return { type: 'price' as const, precision, minMove: 10 ** -precision };
}

export function toldOf({ kind, sampled, interval, rows }: Loaded, own: string): string {
  if (rows.size === 0) return 'Nothing is stored here.';
  if (sampled) return `One value each ${interval}: the last of its period, of those of ${own}.`;
  const what = kind === 'candles' ? 'candle' : 'price';
  return interval === own
    ? `Every ${what} of ${own}, as stored.`
    : `Candles of ${interval}, made of those of ${own}.`;
}
