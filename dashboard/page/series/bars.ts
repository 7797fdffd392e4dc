/** Converts the loaded points to the chart's bars and describes them. */

import type { CandlestickData, HistogramData, LineData, Time, UTCTimestamp, WhitespaceData } from 'lightweight-charts';
import { type DecimalText, differenceOf } from '../../../model/decimal.ts';
import type { Range } from '../../../model/intervals.ts';
import type { PointRow } from '../../shapes.ts';
import { type Piece, worstStateIn } from './chart-piece.ts';

export function secondsOf(timeMs: number): UTCTimestamp {
  return (timeMs / 1000) as UTCTimestamp;
}

/** The values of a scale, the digits that tell them apart, and the decimals that they have at least. */
const scales = {
  /** The four of a candle: each may have decimals that the others lack. Prices of a currency have two. */
  prices: { from: 1, to: 5, digits: 6, scaledDigits: 4, decimals: 2 },
  /** Only their sizes are compared. */
  volumes: { from: 5, to: 6, digits: 3, scaledDigits: 3, decimals: 0 },
};
type Scale = keyof typeof scales;

function textsOf({ rows, kind }: Piece, scale: Scale): string[] {
  const { from } = scales[scale];
  const to = kind === 'candles' ? scales[scale].to : from + 1;
  return [...rows.values()].flatMap((row) => row.slice(from, to).map(String));
}

/**
 * The power of ten by which values are scaled for drawing. It is 0 except for values outside the range of the chart,
 * which uses doubles and steps of at least 1e-14. It comes from the text, which may exceed the range of doubles.
 */
export function drawnPower(piece: Piece, scale: Scale = 'prices'): number {
  const power = largestPower(textsOf(piece, scale));
  return power !== null && (power > 12 || power < -8) ? power : 0;
}

/** The price that stands for a row: of a candle its close. */
export function priceOf(row: PointRow): string {
  return String(row[row.length > 4 ? 4 : 1]);
}

export interface Change {
  /** `+1.20 (+0.34 %)` */
  readonly text: string;
  readonly isDown: boolean;
}

/**
 * From the value before, of a candle its close: the exact difference, and the percentage. Null: the value before is not
 * loaded, or something is missing from it on. The values of bars are no changes of each other.
 */
export function changeOf({ rows, kind, periodMs, startMs, shades }: Piece, row: PointRow): Change | null {
  if (kind === 'bars') return null;
  let beforeMs = row[0] - periodMs;
  while (!rows.has(beforeMs) && beforeMs >= startMs) beforeMs -= periodMs;
  const before = rows.get(beforeMs);
  if (
    before === undefined ||
    ['gap', 'failed'].includes(`${worstStateIn(shades, { startMs: beforeMs, endMs: row[0] })}`)
  )
    return null;
  const difference = differenceOf(priceOf(row) as DecimalText, priceOf(before) as DecimalText);
  const isDown = difference.startsWith('-');
  const signed = (text: string) => `${isDown ? '−' : /[1-9]/.test(difference) ? '+' : ''}${text.replace('-', '')}`;
  const share = 100 * (Number(difference) / Number(priceOf(before)));
  const isTold = Number(priceOf(before)) > 0 && Number.isFinite(share);
  return { text: `${signed(difference)}${isTold ? ` (${signed(share.toFixed(2))} %)` : ''}`, isDown };
}

/** What a range of the loaded piece has: `5 d, +3.21 %, lowest 41000.1, highest 44020`; empty: no value. */
export function measured({ rows, kind, periodMs }: Piece, { startMs, endMs }: Range): string {
  const within = [...rows.values()]
    .filter(([timeMs]) => timeMs + periodMs > startMs && timeMs < endMs)
    .sort((one, other) => one[0] - other[0]);
  const [first, last] = [within[0], within.at(-1)];
  if (first === undefined || last === undefined || kind === 'bars') return '';
  const change = 100 * (Number(priceOf(last)) / Number(first[1]) - 1);
  const [low, high] = kind === 'candles' ? [3, 2] : [1, 1];
  const extreme = (place: number, isBeyond: (one: number, other: number) => boolean) =>
    within.reduce((found, row) => (isBeyond(Number(row[place]), Number(found[place])) ? row : found))[place];
  return [
    ...(Number.isFinite(change) ? [`${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(2)} %`] : []),
    `lowest ${extreme(low, (one, other) => one < other)}`,
    `highest ${extreme(high, (one, other) => one > other)}`,
  ].join(', ');
}

/** The scaled value. */
export function drawnValue(text: string | null | undefined, power: number): number {
  return Number(`${text}e${-power}`);
}

/** The colours of values that rise, or are above zero, and of others. */
interface Colours {
  readonly up: string;
  readonly down: string;
}

/** One bar for each period. Periods without a value become whitespace, so that the time axis is linear. */
export function barsOf(
  { rows, kind, startMs, endMs, periodMs }: Piece,
  power: number,
  colours: Colours,
): (CandlestickData | LineData | HistogramData | WhitespaceData<Time>)[] {
  const bars = [];
  for (let timeMs = startMs; timeMs < endMs; timeMs += periodMs) {
    const row = rows.get(timeMs);
    const time = secondsOf(timeMs);
    if (row === undefined) bars.push({ time });
    else if (kind === 'line') bars.push({ time, value: drawnValue(row[1], power) });
    else if (kind === 'bars') {
      const value = drawnValue(row[1], power);
      bars.push({ time, value, color: value < 0 ? colours.down : colours.up });
    } else
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
export function volumesOf({ rows }: Piece, power: number, colours: Colours): HistogramData[] {
  return [...rows.values()]
    .sort((one, other) => one[0] - other[0])
    .map(([timeMs, open, , , close, volume]) => ({
      time: secondsOf(timeMs),
      value: drawnValue(volume, power),
      color: Number(close) >= Number(open) ? colours.up : colours.down,
    }));
}

/** The chart takes no smaller step than 1e-14. */
const maxDecimals = 13;

/**
 * A format with the decimals that the loaded values have (their tick), but no more than distinguish values of this
 * size: a mean may have twenty.
 */
export function formatFor(piece: Piece, power: number, scale: Scale = 'prices') {
  const texts = textsOf(piece, scale);
  const { digits, scaledDigits, decimals } = scales[scale];
  const largest = largestPower(texts);
  const wanted = power === 0 ? digits : scaledDigits;
  const telling = largest === null ? 2 : Math.max(decimals, wanted - (largest - power));
  const precision = Math.max(0, Math.min(telling, maxDecimals, decimalsOf(texts) + power));
  return {
    type: 'custom' as const,
    minMove: 10 ** -precision,
    formatter: (value: number) => `${value.toFixed(precision)}${power === 0 ? '' : `e${power}`}`,
  };
}

function largestPower(texts: readonly string[]): number | null {
  const powers = texts.map(powerOf).filter((power) => power !== null);
  return powers.length === 0 ? null : powers.reduce((one, other) => Math.max(one, other));
}

/** The most decimals of a value, without zeros at its end. */
function decimalsOf(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, /\.(\d*?)0*$/.exec(text)?.[1]?.length ?? 0), 0);
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
  if (interval === own) return `Every ${what} of ${own}, as stored.`;
  return `${kind === 'bars' ? 'Sums' : 'Candles'} of ${interval}, aggregated from ${own}.`;
}
