/** How each state of a band looks and what it is called. */

import type { Layer } from '../../layers.ts';

export const bandColumns = 240;
export const bandHeight = 12;

/** Vertical extent of each layer from the top. A gap is low and hollow, so it is recognizable without colours. */
export const extents: Readonly<Record<Layer, readonly [top: number, height: number]>> = {
  tracked: [5, 2],
  covered: [0, 12],
  empty: [6, 6],
  gap: [3, 6],
  failed: [0, 12],
  queued: [0, 3],
  active: [0, 3],
};

export const layerNames: Readonly<Record<Layer, string>> = {
  tracked: 'tracked',
  covered: 'covered',
  empty: 'confirmed empty',
  gap: 'gap',
  failed: 'failed',
  queued: 'queued',
  active: 'active',
};
