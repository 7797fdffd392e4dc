/** Shades on the chart what is missing: behind the candles, and hatched, so that it is not told by colour alone. */

import type {
  IPanePrimitive,
  IPanePrimitivePaneView,
  Logical,
  PaneAttachedParameter,
  Time,
} from 'lightweight-charts';
import type { Layer } from '../shapes.ts';
import type { Shade } from './shades.ts';
import { colour } from './theme.ts';

const strokes: Readonly<Partial<Record<Layer, readonly [name: string, spacing: number]>>> = {
  empty: ['--empty', 16],
  gap: ['--gap', 8],
  failed: ['--failed', 4],
};

/** @param placeOf the place of a time among the chart's bars, with a fraction. */
export class Shading implements IPanePrimitive<Time> {
  shades: readonly Shade[] = [];
  readonly #placeOf: (timeMs: number) => number;
  #attached: PaneAttachedParameter<Time> | null = null;

  constructor(placeOf: (timeMs: number) => number) {
    this.#placeOf = placeOf;
  }

  attached(to: PaneAttachedParameter<Time>): void {
    this.#attached = to;
  }

  update(): void {
    this.#attached?.requestUpdate();
  }

  paneViews(): readonly IPanePrimitivePaneView[] {
    return [
      {
        zOrder: () => 'bottom',
        renderer: () => ({ draw: (target) => target.useMediaCoordinateSpace((scope) => this.#draw(scope)) }),
      },
    ];
  }

  #draw({
    context,
    mediaSize,
  }: {
    context: CanvasRenderingContext2D;
    mediaSize: { width: number; height: number };
  }): void {
    const timeScale = this.#attached?.chart.timeScale();
    if (timeScale === undefined) return;
    // Only whole places have a coordinate. A bar is drawn around its own: what begins with it begins half a bar before.
    const first = timeScale.logicalToCoordinate(0 as Logical);
    const second = timeScale.logicalToCoordinate(1 as Logical);
    if (first === null || second === null) return;
    const xOf = (timeMs: number) => first + (this.#placeOf(timeMs) - 0.5) * (second - first);
    for (const { layer, startMs, endMs } of this.shades) {
      const [left, right] = [xOf(startMs), xOf(endMs)];
      if (right < 0 || left > mediaSize.width) continue;
      const x = Math.max(0, left);
      const width = Math.max(1, Math.min(mediaSize.width, right) - x);
      const [name, spacing] = strokes[layer] ?? ['--gap', 8];
      context.save();
      context.beginPath();
      context.rect(x, 0, width, mediaSize.height);
      context.clip();
      context.globalAlpha = 0.12;
      context.fillStyle = colour(name);
      context.fillRect(x, 0, width, mediaSize.height);
      context.globalAlpha = 0.45;
      context.strokeStyle = colour(name);
      context.beginPath();
      for (let at = x - mediaSize.height; at < x + width; at += spacing) {
        context.moveTo(at, mediaSize.height);
        context.lineTo(at + mediaSize.height, 0);
      }
      context.stroke();
      context.restore();
    }
  }
}
