/** The style of the charts with the style sheet's colours for both themes, and the shading of gaps and marks. */

import {
  ColorType,
  CrosshairMode,
  type IPanePrimitive,
  type IPanePrimitivePaneView,
  type Logical,
  type PaneAttachedParameter,
  TickMarkType,
  type Time,
} from 'lightweight-charts';
import type { Range } from '../../../model/intervals.ts';
import type { Layer } from '../../layers.ts';
import type { StoredEvent } from '../../shapes.ts';
import { markKinds, rowPx } from '../parts/marks.tsx';
import type { Shade } from './chart-piece.ts';
import { shifted, timeIn, type Zone } from './zone.ts';

/** @param name such as `--covered`. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @returns removes the listener. */
export function onTheme(listener: () => void): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', listener);
  return () => dark.removeEventListener('change', listener);
}

export function chartStyle() {
  const line = { color: colour('--line') };
  return {
    layout: {
      background: { type: ColorType.Solid, color: colour('--surface') },
      textColor: colour('--text'),
      // The page has the notice and the link itself. The logo needs an inline style, which the policy forbids.
      attributionLogo: false,
    },
    grid: { vertLines: line, horzLines: line },
    timeScale: {
      ...{ timeVisible: true, secondsVisible: false, borderColor: colour('--line'), minBarSpacing: 0.5 },
      lockVisibleTimeRangeOnResize: true,
    },
    rightPriceScale: { borderColor: colour('--line'), entireTextOnly: true },
    crosshair: { mode: CrosshairMode.Normal },
  };
}

/**
 * How times are written. Only the writing changes with the zone: the grid is that of the periods, which are of UTC, and
 * a clock that is set back would show an hour twice.
 */
export function timeStyle(zone: () => Zone) {
  return {
    localization: { locale: 'en-GB', timeFormatter: (time: Time) => timeIn(zone(), Number(time) * 1000) },
    timeScale: {
      tickMarkMaxCharacterLength: 12,
      tickMarkFormatter: (time: Time, type: TickMarkType): string | null => {
        if (zone() === 'utc') return null;
        const at = new Date(shifted(zone(), Number(time) * 1000)).toISOString();
        const [day, clock] = [at.slice(5, 10), at.slice(11, 16)];
        if (type === TickMarkType.Time || type === TickMarkType.TimeWithSeconds) return clock;
        return clock === '00:00' ? (type === TickMarkType.Year ? at.slice(0, 4) : day) : `${day} ${clock}`;
      },
    },
  };
}

/** Of what rises or is above zero, and of the rest. */
export function changeColours() {
  return { up: colour('--up'), down: colour('--down') };
}

export function seriesStyle() {
  const { up, down } = changeColours();
  return {
    upColor: up,
    downColor: down,
    wickUpColor: up,
    wickDownColor: down,
    borderUpColor: up,
    borderDownColor: down,
    color: colour('--covered'),
    lineWidth: 2 as const,
    priceLineColor: colour('--muted'),
  };
}

/** Of bars of volume, which are behind no line and have no last price. */
export const volumeStyle = { priceLineVisible: false, lastValueVisible: false };

const strokes: Readonly<Partial<Record<Layer, readonly [name: string, spacing: number]>>> = {
  empty: ['--empty', 16],
  gap: ['--gap', 8],
  failed: ['--failed', 4],
};

/** Hatches missing ranges behind the candles, so that they do not differ by colour alone. */
export class Shading implements IPanePrimitive<Time> {
  shades: readonly Shade[] = [];
  /** What the reader chose, or is choosing; null: nothing. */
  chosen: Range | null = null;
  /** Each has its name at its beginning, in the row of its kind. */
  marks: readonly StoredEvent[] = [];
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
        renderer: () => ({
          draw: (target) =>
            target.useMediaCoordinateSpace(({ context, mediaSize: { width, height } }) =>
              this.#draw(context, width, height),
            ),
        }),
      },
    ];
  }

  #draw(context: CanvasRenderingContext2D, paneWidth: number, height: number): void {
    const timeScale = this.#attached?.chart.timeScale();
    if (timeScale === undefined) return;
    // Only whole positions have coordinates. A bar is centred on its position, so its period begins half a bar earlier.
    const first = timeScale.logicalToCoordinate(0 as Logical);
    const second = timeScale.logicalToCoordinate(1 as Logical);
    if (first === null || second === null) return;
    const xOf = (timeMs: number) => first + (this.#placeOf(timeMs) - 0.5) * (second - first);
    const placeOf = ({ startMs, endMs }: Range) => {
      const [left, right] = [xOf(startMs), xOf(endMs)];
      const x = Math.max(0, left);
      return right < 0 || left > paneWidth ? null : { x, width: Math.max(1, Math.min(paneWidth, right) - x) };
    };
    const chosen = this.chosen === null ? null : placeOf(this.chosen);
    if (chosen !== null) {
      context.save();
      context.globalAlpha = 0.15;
      context.fillStyle = colour('--covered');
      context.fillRect(chosen.x, 0, chosen.width, height);
      context.restore();
    }
    const named = new Map<string, number>();
    for (const { timeMs, untilMs, kind } of this.marks.toReversed()) {
      const place = placeOf({ startMs: timeMs, endMs: untilMs ?? timeMs });
      if (place === null) continue;
      const row = markKinds.indexOf(kind) + 1;
      context.save();
      context.fillStyle = colour(kind === 'outage' || kind === 'ban' ? '--failed' : '--muted');
      context.globalAlpha = 0.12;
      context.fillRect(place.x, 0, place.width, height);
      context.globalAlpha = 0.7;
      context.fillRect(place.x, 0, 1, height);
      context.globalAlpha = 1;
      context.font = '11px sans-serif';
      context.fillStyle = colour('--text');
      const isFree = place.x >= (named.get(kind) ?? 0);
      if (isFree) context.fillText(kind, place.x + 3, row * rowPx);
      if (isFree) named.set(kind, place.x + 3 + context.measureText(kind).width);
      context.restore();
    }
    for (const { layer, ...shade } of this.shades) {
      const place = placeOf(shade);
      if (place === null) continue;
      const { x, width } = place;
      const [name, spacing] = strokes[layer] ?? ['--gap', 8];
      context.save();
      context.beginPath();
      context.rect(x, 0, width, height);
      context.clip();
      context.globalAlpha = 0.12;
      context.fillStyle = colour(name);
      context.fillRect(x, 0, width, height);
      context.globalAlpha = 0.45;
      context.strokeStyle = colour(name);
      context.beginPath();
      for (let at = x - height; at < x + width; at += spacing) {
        context.moveTo(at, height);
        context.lineTo(at + height, 0);
      }
      context.stroke();
      context.restore();
    }
  }
}
