/** The style of the charts with the style sheet's colours for both themes, and the shading of gaps and marks. */

import {
  ColorType,
  CrosshairMode,
  defaultHorzScaleBehavior,
  type IHorzScaleBehavior,
  type IPanePrimitive,
  type IPanePrimitivePaneView,
  type Logical,
  type PaneAttachedParameter,
  TickMarkType,
  type Time,
} from 'lightweight-charts';
import { hourMs, minuteMs, type Range } from '../../../model/intervals.ts';
import type { Layer } from '../../layers.ts';
import type { StoredEvent } from '../../shapes.ts';
import { markKinds, nameWithin, rowPx } from '../parts/marks.tsx';
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

/** How times are written. */
export function timeStyle(zone: Zone) {
  return {
    localization: { locale: 'en-GB', timeFormatter: (time: Time) => timeIn(zone, Number(time) * 1000) },
    timeScale: {
      tickMarkMaxCharacterLength: 12,
      tickMarkFormatter: (time: Time, type: TickMarkType): string | null => {
        if (zone === 'utc') return null;
        const at = new Date(shifted(zone, Number(time) * 1000));
        if (type === TickMarkType.Year) return String(at.getUTCFullYear());
        if (type === TickMarkType.Month) return at.toLocaleString('en-GB', { month: 'short', timeZone: 'UTC' });
        return type === TickMarkType.DayOfMonth ? String(at.getUTCDate()) : at.toISOString().slice(11, 16);
      },
    },
  };
}

/** The weights of the library's own scale. */
const weights = { year: 70, month: 60, day: 50, least: 0 };
const weightsOfDay = [
  [12 * hourMs, 33],
  [6 * hourMs, 32],
  [3 * hourMs, 31],
  [hourMs, 30],
  [30 * minuteMs, 22],
  [5 * minuteMs, 21],
  [minuteMs, 20],
] as const;

/** A scale whose years, months, days and hours begin by the clock of a zone: periods stay those of UTC. */
export function zonedScale(zone: Zone) {
  return new (class extends defaultHorzScaleBehavior() {
    override fillWeightsForPoints(
      points: Parameters<IHorzScaleBehavior<Time>['fillWeightsForPoints']>[0],
      from: number,
    ) {
      if (zone === 'utc') return super.fillWeightsForPoints(points, from);
      const clockOf = (place: number) => shifted(zone, Number(points[place]?.originalTime) * 1000);
      for (let place = from; place < points.length; place += 1) {
        const point = points[place];
        if (point !== undefined)
          point.timeWeight = (
            place === 0 ? weights.least : weightOf(clockOf(place - 1), clockOf(place))
          ) as typeof point.timeWeight;
      }
    }
  })();
}

/** Of the longest unit of the clock that begins between two times on it. */
function weightOf(before: number, now: number): number {
  const [one, other] = [new Date(before).toISOString(), new Date(now).toISOString()];
  if (one.slice(0, 4) !== other.slice(0, 4)) return weights.year;
  if (one.slice(0, 7) !== other.slice(0, 7)) return weights.month;
  if (one.slice(0, 10) !== other.slice(0, 10)) return weights.day;
  const [, weight = weights.least] =
    weightsOfDay.find(([ms]) => Math.floor(before / ms) !== Math.floor(now / ms)) ?? [];
  return weight;
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
      const { width } = context.measureText(kind);
      const nameX = nameWithin(place.x + 3, width, paneWidth);
      if (isFree) context.fillText(kind, nameX, row * rowPx);
      if (isFree) named.set(kind, nameX + width);
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
