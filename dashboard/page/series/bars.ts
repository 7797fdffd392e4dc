/** Converts the loaded points to the chart's bars and describes them. */

import type { CandlestickData, HistogramData, LineData, Time, UTCTimestamp, WhitespaceData } from 'lightweight-charts';
import type { PointRow } from '../../shapes.ts';
import type { Piece } from './chart-piece.ts';

export function secondsOf(timeMs: number): UTCTimestamp {
  return (timeMs / 1000) as UTCTimestamp;
}

/**
 * The power of ten by which values are scaled for drawing. It is 0 except for values outside the range of the chart, which
 * uses doubles and steps of at least 1e-14. It comes from the text, which may exceed the range of doubles.
 */
export function drawnPower({ rows }: Piece): number {
  return drawable(largestPower(rows, pricesOf));
}

/** The same of volumes. */
export function drawnVolumePower({ rows }: Piece): number {
  return drawable(largestPower(rows, volumesIn));
}

function drawable(power: number | null): number {
  return power !== null && (power > 12 || power < -8) ? power : 0;
}

type TextsOf = (row: PointRow) => readonly unknown[];
/** The four of a candle: each may have decimals that the others lack. */
const pricesOf: TextsOf = (row) => row.slice(1, 5);
const volumesIn: TextsOf = (row) => row.slice(5);

/** The price that stands for a row: of a candle its close. */
export function priceOf(row: PointRow): string {
  return String(row[row.length > 2 ? 4 : 1]);
}

/** The scaled value. */
export function drawnValue(text: string | undefined, power: number): number {
  return Number(`${text}e${-power}`);
}

/** One bar for each period. Periods without a value become whitespace, so that the time axis is linear. */
export function barsOf(
  { rows, startMs, endMs, periodMs }: Piece,
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

/** A volume for each candle, in the colour of its change. */
export function volumesOf(
  { rows }: Piece,
  power: number,
  colours: { readonly up: string; readonly down: string },
): HistogramData[] {
  return [...rows.values()]
    .sort((one, other) => one[0] - other[0])
    .map(([timeMs, open, , , close, volume]) => ({
      time: secondsOf(timeMs),
      value: drawnValue(volume, power),
      color: Number(close) >= Number(open) ? colours.up : colours.down,
    }));
}

/**
 * A price format with the decimals that the loaded values have (their tick), but no more than distinguish values of this size:
 * a mean may have twenty. At least two, which the prices of a currency have.
 */
export function formatFor(piece: Piece, power: number) {
  return formatOf(piece, power, pricesOf, { digits: power === 0 ? 6 : 4, decimals: 2 });
}

/** Volumes need fewer digits: only their sizes are compared. */
export function volumeFormat(piece: Piece, power: number) {
  return formatOf(piece, power, volumesIn, { digits: 3, decimals: 0 });
}

function formatOf(
  { rows }: Piece,
  power: number,
  textsOf: TextsOf,
  least: { readonly digits: number; readonly decimals: number },
) {
  const largest = largestPower(rows, textsOf);
  const telling = largest === null ? 2 : Math.max(least.decimals, least.digits - (largest - power));
  const precision = Math.max(0, Math.min(telling, maxDecimals, decimalsOf(rows, textsOf) + power));
  return {
    type: 'custom' as const,
    minMove: 10 ** -precision,
    formatter: (value: number) => `${value.toFixed(precision)}${power === 0 ? '' : `e${power}`}`,
  };
}

function largestPower(rows: Piece['rows'], textsOf: TextsOf): number | null {
  let largest: number | null = null;
  for (const row of rows.values()) {
    for (const text of textsOf(row)) {
      const power = powerOf(String(text));
      if (power !== null && (largest === null || power > largest)) largest = power;
    }
  }
  return largest;
}

/** The chart takes no smaller step than 1e-14. */
const maxDecimals = 13;

/** The most decimals of a value, without zeros at its end. */
function decimalsOf(rows: Piece['rows'], textsOf: TextsOf): number {
  let most = 0;
  for (const row of rows.values()) {
    for (const text of textsOf(row)) {
      const [, fraction = ''] = /\.(\d*?)0*$/.exec(String(text)) ?? [];
      most = Math.max(most, fraction.length);
    }
  }
  return most;
}

/** The power of ten of the first nonzero digit; null for zero. */
function powerOf(text: string): number | null {
  const [, whole = '', fraction = ''] = /^-?0*(\d*)\.?(\d*)$/.exec(text) ?? [];
  if (whole !== '') return whole.length - 1;
  const zeros = fraction.search(/[1-9]/);
  return zeros === -1 ? null : -1 - zeros;
}

export function describePoints({ kind, sampled, interval, rows }: Piece, own: string): string {
  if (rows.size === 0) return 'No stored data in this range.';
  if (sampled) return `One value per ${interval}: the last ${own} value of each period.`;
  const what = kind === 'candles' ? 'candle' : 'point';
  return interval === own ? `Every ${what} of ${own}, as stored.` : `Candles of ${interval}, aggregated from ${own}.`;
}
