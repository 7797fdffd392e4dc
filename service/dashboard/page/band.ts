/** A band of coverage as a drawing, and the words that stand for it. Each state has a shape of its own beside its colour. */

import { type Band, type Layer, layers, type SeriesLine } from '../shapes.ts';
import { drawn, element } from './element.ts';
import { counted, coverage, duration } from './wording.ts';

export const bandColumns = 240;
const height = 12;

/** From the top: a gap is a low, hollow line, so that it is told from what is covered without colours. */
const extents: Readonly<Record<Layer, readonly [top: number, height: number]>> = {
  tracked: [5, 2],
  covered: [0, 12],
  empty: [6, 6],
  gap: [3, 6],
  failed: [0, 12],
  inFlight: [0, 3],
};

export const layerNames: Readonly<Record<Layer, string>> = {
  tracked: 'wanted',
  covered: 'covered',
  empty: 'confirmed empty',
  gap: 'gap',
  failed: 'failed',
  inFlight: 'in flight',
};

export function drawBand(into: SVGSVGElement, band: Band): void {
  const shapes = layers.flatMap((layer) => {
    const pairs = band.layers[layer];
    const [y, h] = extents[layer];
    return Array.from({ length: pairs.length / 2 }, (_, place) => {
      const [x = 0, past = 0] = [pairs[2 * place], pairs[2 * place + 1]];
      // What is covered is not seen through a gap.
      const under =
        layer === 'gap' || layer === 'failed'
          ? [drawn('rect', { class: 'hole', x, y: 0, width: past - x, height })]
          : [];
      return [...under, drawn('rect', { class: layer, x, y, width: past - x, height: h })];
    }).flat();
  });
  into.setAttribute('viewBox', `0 0 ${band.columns} ${height}`);
  into.replaceChildren(...shapes);
}

export function emptyBand(): SVGSVGElement {
  return drawn('svg', {
    class: 'band',
    viewBox: `0 0 ${bandColumns} ${height}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': 'coverage',
  });
}

/** What the drawing shows, in words. */
export function bandText(line: SeriesLine, nowMs: number): string {
  const parts = [coverage(line, nowMs)];
  if (line.emptyMs > 0) parts.push(`${duration(line.emptyMs)} confirmed empty`);
  if (line.gaps > 0) parts.push(`${counted(line.gaps, 'gap')}, ${duration(line.missingMs)} missing`);
  else if (line.wantedMs > 0) parts.push('no gap');
  if (line.failedMs > 0) parts.push(`${duration(line.failedMs)} failed`);
  if (line.inFlight > 0) parts.push(`${counted(line.inFlight, 'window')} in flight`);
  if (line.blocked !== null) parts.push('refused by the source');
  return parts.join(', ');
}

export function legend(): HTMLElement {
  const shown: readonly Layer[] = ['covered', 'empty', 'gap', 'failed', 'inFlight'];
  const entries = shown.map((layer) => {
    const [y, h] = extents[layer];
    const swatch = drawn(
      'svg',
      { viewBox: `0 0 20 ${height}`, 'aria-hidden': 'true', class: 'band swatch' },
      drawn('rect', { class: layer, x: 0, y, width: 20, height: h }),
    );
    return element('li', {}, swatch, layerNames[layer]);
  });
  return element('ul', { class: 'legend', 'aria-label': 'What the bands show' }, ...entries);
}
