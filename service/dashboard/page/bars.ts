/** What is held of a series as the chart's bars, and what is said of them. */

import type { CandlestickData, LineData, Time, UTCTimestamp, WhitespaceData } from 'lightweight-charts';
import type { Loaded } from './loaded.ts';

export function secondsOf(timeMs: number): UTCTimestamp {
  return (timeMs / 1000) as UTCTimestamp;
}

/**
 * The power of ten in which values are drawn: 0, but for values so large or so small that the chart, which counts in
 * doubles and in steps of 1e-14 at least, would leave them out. Taken from the text, which may be beyond any double.
 */
export function drawnPower({ rows }: Loaded): number {
  const power = largestPower(rows);
  return power !== null && (power > 12 || power < -8) ? power : 0;
}

/** The value as it is drawn. */
export function drawnValue(text: string | undefined, power: number): number {
  return Number(`${text}e${-power}`);
}

/** Every period of the piece, those without a value as empty places: time then runs evenly. */
export function barsOf(
  { rows, startMs, endMs, periodMs }: Loaded,
  power: number,
): (CandlestickData | LineData | WhitespaceData<Time>)[] {
  const bars = [];
  for (let timeMs = startMs; timeMs < endMs; timeMs += periodMs) {
    const row = rows.get(timeMs);
    const time = secondsOf(timeMs);
    if (row === undefined) bars.push({ time });
    else if (row.length === 2) bars.push({ time, value: drawnValue(row[1], power) });
    else
      bars.push({
        time,
        open: drawnValue(row[1], power),
        high: drawnValue(row[2], power),
        low: drawnValue(row[3], power),
        close: drawnValue(row[4], power),
      });
  }
  return bars;
}

/** As many decimals on the scale as tell values of this size apart. */
export function formatFor({ rows }: Loaded, power: number) {
  const largest = largestPower(rows);
  const precision = largest === null ? 2 : Math.max(2, 4 - (largest - power));
  return {
    type: 'custom' as const,
    minMove: 10 ** -precision,
    formatter: (value: number) => `${value.toFixed(precision)}${power === 0 ? '' : `e${power}`}`,
  };
}

function largestPower(rows: Loaded['rows']): number | null {
  let largest: number | null = null;
  for (const row of rows.values()) {
    const power = powerOf(String(row[row.length > 2 ? 2 : 1]));
    if (power !== null && (largest === null || power > largest)) largest = power;
  }
  return largest;
}

/** Of the first digit that is not zero. Null: there is none. */
function powerOf(text: string): number | null {
  const [, whole = '', fraction = ''] = /^-?0*(\d*)\.?(\d*)$/.exec(text) ?? [];
  if (whole !== '') return whole.length - 1;
  const zeros = fraction.search(/[1-9]/);
  return zeros === -1 ? null : -1 - zeros;
}

export function toldOf({ kind, sampled, interval, rows }: Loaded, own: string): string {
  if (rows.size === 0) return 'Nothing is stored here.';
  if (sampled) return `One value each ${interval}: the last of its period, of those of ${own}.`;
  const what = kind === 'candles' ? 'candle' : 'price';
  return interval === own
    ? `Every ${what} of ${own}, as stored.`
    : `Candles of ${interval}, made of those of ${own}.`;
}
