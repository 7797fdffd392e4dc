/** Draws a coverage band and describes it in words. States differ by shape as well as by colour. */

import { type Band, type Layer, layers, type SeriesLine } from '../shapes.ts';
import { element, svgElement } from './element.ts';
import { counted, describeCoverage, formatDuration } from './format.ts';

export const bandColumns = 240;
const height = 12;

/** Vertical extent of each layer from the top. A gap is low and hollow, so it is recognizable without colours. */
const extents: Readonly<Record<Layer, readonly [top: number, height: number]>> = {
  tracked: [5, 2],
  covered: [0, 12],
  empty: [6, 6],
  gap: [3, 6],
  failed: [0, 12],
  inFlight: [0, 3],
};

export const layerNames: Readonly<Record<Layer, string>> = {
  tracked: 'tracked',
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
      // Covered columns must not show through a gap.
      const under =
        layer === 'gap' || layer === 'failed'
          ? [svgElement('rect', { class: 'hole', x, y: 0, width: past - x, height })]
          : [];
      return [...under, svgElement('rect', { class: layer, x, y, width: past - x, height: h })];
    }).flat();
  });
  into.setAttribute('viewBox', `0 0 ${band.columns} ${height}`);
  into.replaceChildren(...shapes);
}

export function emptyBand(): SVGSVGElement {
  return svgElement('svg', {
    class: 'band',
    viewBox: `0 0 ${bandColumns} ${height}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': 'coverage',
  });
}

/** The text alternative of a band. */
export function describeBand(line: SeriesLine, nowMs: number): string {
  const parts = [describeCoverage(line, nowMs)];
  if (line.emptyMs > 0) parts.push(`${formatDuration(line.emptyMs)} confirmed empty`);
  if (line.gaps > 0) parts.push(`${counted(line.gaps, 'gap')}, ${formatDuration(line.missingMs)} missing`);
  else if (line.wantedMs > 0) parts.push('no gap');
  if (line.failedMs > 0) parts.push(`${formatDuration(line.failedMs)} failed`);
  if (line.inFlight > 0) parts.push(`${counted(line.inFlight, 'window')} in flight`);
  if (line.blocked !== null) parts.push('refused by the source');
  return parts.join(', ');
}

export function legend(): HTMLElement {
  const shown: readonly Layer[] = ['covered', 'empty', 'gap', 'failed', 'inFlight'];
  const entries = shown.map((layer) => {
    const [y, h] = extents[layer];
    const swatch = svgElement(
      'svg',
      { viewBox: `0 0 20 ${height}`, 'aria-hidden': 'true', class: 'band swatch' },
      svgElement('rect', { class: layer, x: 0, y, width: 20, height: h }),
    );
    return element('li', {}, swatch, layerNames[layer]);
  });
  return element('ul', { class: 'legend', 'aria-label': 'What the bands show' }, ...entries);
}
