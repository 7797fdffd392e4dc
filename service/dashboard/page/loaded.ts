/** The piece of a series that the chart holds: one interval, a bounded number of periods, every one of them a place. */

import type { PointRow, Points } from '../shapes.ts';
import { type Shade, shadesOf } from './shades.ts';

/** Periods that are held. What lies further from the screen is let go, and asked for again when it is needed. */
export const mostHeld = 6000;

export interface Loaded {
  readonly kind: Points['kind'];
  readonly sampled: boolean;
  readonly interval: string;
  readonly periodMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: ReadonlyMap<number, PointRow>;
  readonly shades: readonly Shade[];
}

export function loadedFrom(points: Points, periodMs: number): Loaded {
  const { kind, sampled, interval, startMs, endMs, rows, band } = points;
  return {
    ...{ kind, sampled, interval, periodMs, startMs, endMs },
    rows: new Map(rows.map((row) => [row[0], row])),
    shades: shadesOf(band),
  };
}

/**
 * Puts a piece to what is held, where the two touch or overlap; what both have, the piece has newer.
 * Of more than is held, what is furthest from the piece is let go.
 */
export function joined(held: Loaded, piece: Loaded): Loaded {
  const isSame =
    held.interval === piece.interval && held.kind === piece.kind && held.sampled === piece.sampled;
  if (!isSame || piece.startMs > held.endMs || piece.endMs < held.startMs) return piece;
  let startMs = Math.min(held.startMs, piece.startMs);
  let endMs = Math.max(held.endMs, piece.endMs);
  const mostMs = mostHeld * held.periodMs;
  if (endMs - startMs > mostMs) {
    if (piece.startMs < held.startMs) endMs = startMs + mostMs;
    else startMs = endMs - mostMs;
  }
  const rows = new Map<number, PointRow>();
  for (const [timeMs, row] of held.rows) {
    if (timeMs < piece.startMs || timeMs >= piece.endMs) rows.set(timeMs, row);
  }
  for (const [timeMs, row] of piece.rows) rows.set(timeMs, row);
  for (const timeMs of rows.keys()) if (timeMs < startMs || timeMs >= endMs) rows.delete(timeMs);
  const outside = held.shades.flatMap((shade) => [
    ...clipped(shade, Number.NEGATIVE_INFINITY, piece.startMs),
    ...clipped(shade, piece.endMs, Number.POSITIVE_INFINITY),
  ]);
  return { ...piece, startMs, endMs, rows, shades: [...outside, ...piece.shades] };
}

function clipped(shade: Shade, fromMs: number, toMs: number): Shade[] {
  const startMs = Math.max(shade.startMs, fromMs);
  const endMs = Math.min(shade.endMs, toMs);
  return startMs < endMs ? [{ layer: shade.layer, startMs, endMs }] : [];
}
