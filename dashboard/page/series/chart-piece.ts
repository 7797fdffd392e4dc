/** The loaded piece of a series: one interval, a bounded number of periods. Also decides which piece to load next. */

import { type Interval, intervalMs, nextPeriodStart, periodStart } from '../../../model/intervals.ts';
import { overlaps, type Range, subtract } from '../../../model/ranges.ts';
import { chartInterval, chartIntervals, maxPeriods } from '../../chart-intervals.ts';
import type { Layer } from '../../layers.ts';
import type { Band, PointRow, Points } from '../../shapes.ts';

/** Loaded periods. Periods further from the screen are dropped and loaded again when needed. */
const maxHeld = 6000;

export interface Piece extends Omit<Points, 'rows' | 'band'> {
  readonly periodMs: number;
  readonly rows: ReadonlyMap<number, PointRow>;
  readonly shades: readonly Shade[];
}

export function toPiece({ rows, band, ...points }: Points, periodMs: number): Piece {
  return { ...points, periodMs, rows: new Map(rows.map((row) => [row[0], row])), shades: shadesOf(band) };
}

/**
 * Joins a new piece to the loaded one when they touch or overlap. The new piece wins where both have rows. When the
 * result is too long, the end that is further from the new piece is dropped.
 */
export function joinPieces(held: Piece, piece: Piece): Piece {
  const isSame = held.interval === piece.interval && held.kind === piece.kind && held.sampled === piece.sampled;
  if (!isSame || piece.startMs > held.endMs || piece.endMs < held.startMs) return piece;
  let startMs = Math.min(held.startMs, piece.startMs);
  let endMs = Math.max(held.endMs, piece.endMs);
  const maxMs = maxHeld * held.periodMs;
  if (endMs - startMs > maxMs) {
    if (piece.startMs < held.startMs) endMs = startMs + maxMs;
    else startMs = endMs - maxMs;
  }
  const rows = new Map<number, PointRow>();
  for (const [timeMs, row] of held.rows) {
    if (timeMs < piece.startMs || timeMs >= piece.endMs) rows.set(timeMs, row);
  }
  for (const [timeMs, row] of piece.rows) rows.set(timeMs, row);
  for (const timeMs of rows.keys()) if (timeMs < startMs || timeMs >= endMs) rows.delete(timeMs);
  const outside = held.shades.flatMap((shade) => subtract([shade], [piece]).map((part) => ({ ...shade, ...part })));
  return { ...piece, startMs, endMs, rows, shades: [...outside, ...piece.shades] };
}

export interface Shade extends Range {
  readonly layer: Layer;
}

/** From least to most severe, which is the drawing order: a failed range is also a gap. */
const shaded: readonly Layer[] = ['empty', 'gap', 'failed'];

export function shadesOf(band: Band): Shade[] {
  const stepMs = (band.endMs - band.startMs) / band.columns;
  return shaded.flatMap((layer) => {
    const pairs = band.layers[layer];
    return Array.from({ length: pairs.length / 2 }, (_, place) => ({
      layer,
      startMs: band.startMs + (pairs[2 * place] ?? 0) * stepMs,
      endMs: band.startMs + (pairs[2 * place + 1] ?? 0) * stepMs,
    }));
  });
}

/** The most severe state in a range; null: nothing is missing. */
export function worstStateIn(shades: readonly Shade[], range: Range): Layer | null {
  const held = shades.filter((shade) => overlaps(shade, range));
  return shaded.findLast((layer) => held.some((shade) => shade.layer === layer)) ?? null;
}

interface Held extends Range {
  readonly interval: string;
}

export interface Bounds {
  /** The series' own interval. */
  readonly own: Interval;
  /** Chosen by the reader; null: the finest that fits the screen. */
  readonly chosen?: Interval | null;
  /** Start and end of the series. */
  readonly earliestMs: number;
  readonly latestMs: number;
  /** Largest number of bars on the screen. */
  readonly maxBars: number;
}

/** Periods of one request, with room for partial periods at the ends. */
const maxAsked = maxPeriods - 4;

/** The parts of a range of whole periods that one request each may ask for. */
export function requestParts({ startMs, endMs }: Range, periodMs: number): Range[] {
  const partMs = maxAsked * periodMs;
  return Array.from({ length: Math.ceil((endMs - startMs) / partMs) }, (_, place) => ({
    startMs: startMs + place * partMs,
    endMs: Math.min(endMs, startMs + (place + 1) * partMs),
  }));
}

/** A finer interval must fill at most this share of the screen, so that intervals do not alternate (hysteresis). */
const roomy = 0.7;
/** Smallest number of periods worth a request. */
const minAsked = 200;

/**
 * The next piece to request. Null when the screen and half its width on either side are loaded, as far as the series
 * reaches. A piece consists of whole periods of the interval's grid.
 */
export function nextPiece(
  screen: Range,
  held: Held | null,
  bounds: Bounds,
): (Range & { readonly interval: Interval }) | null {
  const spanMs = screen.endMs - screen.startMs;
  const interval = intervalFor(screen, held, bounds);
  const periodMs = intervalMs[interval];
  const floorMs = (timeMs: number) => periodStart(timeMs, interval);
  const ceilMs = (timeMs: number) => nextPeriodStart(Math.ceil(timeMs), interval);
  const [earliestMs, latestMs] = [floorMs(bounds.earliestMs), ceilMs(bounds.latestMs)];
  // There is nothing to load beyond the ends of the series.
  const inside = (timeMs: number) => Math.min(Math.max(timeMs, earliestMs), latestMs);
  const [startMs, endMs] = [inside(screen.startMs), inside(screen.endMs)];
  if (held === null || held.interval !== interval || startMs > held.endMs || endMs < held.startMs) {
    // The screen and its width on either side.
    const besideMs = Math.max(0, Math.min(spanMs, (maxAsked * periodMs - spanMs) / 2));
    const from = Math.max(earliestMs, floorMs(startMs - besideMs));
    const to = Math.min(latestMs, ceilMs(endMs + besideMs));
    return { interval, startMs: from, endMs: Math.max(to, from + periodMs) };
  }
  const pieceMs = Math.min(maxAsked * periodMs, Math.max(2 * spanMs, minAsked * periodMs));
  if (startMs < held.startMs + spanMs / 2 && held.startMs > earliestMs)
    return { interval, startMs: Math.max(earliestMs, floorMs(held.startMs - pieceMs)), endMs: held.startMs };
  if (endMs > held.endMs - spanMs / 2 && held.endMs < latestMs)
    return { interval, startMs: held.endMs, endMs: Math.min(latestMs, ceilMs(held.endMs + pieceMs)) };
  return null;
}

/** The interval for the screen's span. */
export function intervalFor({ startMs, endMs }: Range, held: Held | null, { own, chosen, maxBars }: Bounds): Interval {
  if (chosen != null) return chosen;
  const spanMs = endMs - startMs;
  const present = chartIntervals(own).find((one) => one === held?.interval);
  const finest = chartInterval(own, spanMs, maxBars);
  if (present === undefined || intervalMs[finest] >= intervalMs[present]) return finest;
  const finer = chartInterval(own, spanMs, maxBars * roomy);
  return intervalMs[finer] < intervalMs[present] ? finer : present;
}
