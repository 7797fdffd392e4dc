/** What is missing of a piece of a series, as ranges of time in a state each. */

import type { Band, Layer } from '../shapes.ts';

export interface Shade {
  readonly layer: Layer;
  readonly startMs: number;
  readonly endMs: number;
}

/** From the least severe: a gap that failed is a gap as well, and what is later in the order is drawn over it. */
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

/** The most severe state of a time; null: nothing is known to be missing there. */
export function worstAt(shades: readonly Shade[], timeMs: number): Layer | null {
  const held = shades.filter(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs);
  return shaded.findLast((layer) => held.some((shade) => shade.layer === layer)) ?? null;
}
