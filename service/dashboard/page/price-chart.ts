/**
 * A chart of one series through all of its years, of which it holds a piece.
 *
 * The screen says which interval the piece is in: the finest of which it has room for every period. Moving near an end
 * of the piece asks for what comes next; changing the span asks for another interval. One request at a time; when it has
 * been answered, the screen is looked at again. Numbers are doubles for drawing only: what is told is the stored text.
 */

import {
  type CandlestickData,
  CandlestickSeries,
  createChart,
  type IChartApi,
  type ISeriesApi,
  type LineData,
  LineSeries,
} from 'lightweight-charts';
import { type Interval, intervalMs } from '../../../contract/intervals.ts';
import { mostPeriods } from '../chart-level.ts';
import type { PointRow, SeriesDetail } from '../shapes.ts';
import { askPoints } from './ask.ts';
import { layerNames } from './band.ts';
import { barsOf, drawnPower, drawnValue, formatFor, secondsOf, toldOf } from './bars.ts';
import { chartLooks, seriesLooks } from './chart-looks.ts';
import { joined, type Loaded, loadedFrom } from './loaded.ts';
import { type Bounds, intervalFor, nextPiece } from './next-piece.ts';
import { worstAt } from './shades.ts';
import { Shading } from './shading.ts';
import { onTheme } from './theme.ts';

export interface Pointed {
  readonly timeMs: number;
  readonly row: PointRow | null;
  /** Of a time without a row: what is known of it. */
  readonly state: string;
}

export interface ChartView {
  readonly kind: Loaded['kind'];
  readonly interval: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: readonly PointRow[];
  readonly gaps: number;
}

interface Watcher {
  readonly nowMs: () => number;
  readonly onPoint: (pointed: Pointed | null) => void;
  readonly onLoad: (text: string, isTrouble: boolean) => void;
  readonly onView: () => void;
}

/** Of the screen's width one bar takes so many pixels at least before a coarser interval is shown. */
const leastBarPx = 2.5;
const firstBars = 150;
const leastBars = 10;

type AnySeries = ISeriesApi<'Candlestick'> | ISeriesApi<'Line'>;

export class PriceChart {
  readonly #canvas: HTMLElement;
  readonly #watcher: Watcher;
  #detail: SeriesDetail;
  #chart: IChartApi | null = null;
  #series: AnySeries | null = null;
  /** Never seen: the chart has a place for its screen only where something has a value. */
  #holder: ISeriesApi<'Line'> | null = null;
  #loaded: Loaded | null = null;
  readonly #shading: Shading;
  /** The screen, by time: it stays when the piece is another one. */
  #wanted: { startMs: number; endMs: number };
  /** Whether the screen is at the end of the series: then it goes on with it. */
  #follows = true;
  /** Whether what is held was asked for before the last commit. */
  #isStale = false;
  #isAsking = false;
  /** Whether the screen was moved on the chart itself: only then it says where it is, else it is told. */
  #isByHand = false;
  #again = false;
  #pointedMs: number | null = null;
  #endTheme: () => void = () => {};

  constructor(canvas: HTMLElement, detail: SeriesDetail, watcher: Watcher) {
    this.#canvas = canvas;
    this.#detail = detail;
    this.#watcher = watcher;
    this.#shading = new Shading((timeMs) => this.#placeOf(timeMs));
    this.#wanted = { startMs: 0, endMs: 0 };
  }

  get #own(): Interval {
    return this.#detail.interval as Interval;
  }

  begin(): void {
    const endMs = this.#latestMs();
    const bars = Math.min(firstBars, this.#mostBars());
    this.#wanted = { startMs: endMs - bars * intervalMs[this.#own], endMs };
    const chart = createChart(this.#canvas, { autoSize: true, ...chartLooks() });
    this.#chart = chart;
    this.#holder = chart.addSeries(LineSeries, { visible: false, priceScaleId: '' });
    chart.panes()[0]?.attachPrimitive(this.#shading);
    const hand = (event: Event) => {
      if (event.type !== 'pointermove' || (event as PointerEvent).buttons !== 0) this.#isByHand = true;
    };
    for (const type of ['wheel', 'pointerdown', 'pointermove', 'touchmove'])
      this.#canvas.addEventListener(type, hand, { capture: true, passive: true });
    chart.timeScale().subscribeVisibleLogicalRangeChange(() => this.#looked());
    chart.subscribeCrosshairMove(({ time }) => {
      if (typeof time === 'number') this.#point(time * 1000);
      else if (time === undefined) this.#watcher.onPoint(null);
    });
    this.#endTheme = onTheme(() => {
      chart.applyOptions(chartLooks());
      this.#series?.applyOptions(seriesLooks());
      this.#shading.update();
    });
    void this.#ask();
  }

  end(): void {
    this.#endTheme();
    this.#chart?.remove();
    this.#chart = null;
  }

  /** Reads what is on the screen again, after a commit. */
  refresh(detail: SeriesDetail): void {
    this.#detail = detail;
    this.#isStale = true;
    this.#goOn();
    void this.#ask();
  }

  /** Time has passed, or the clock was set: a series without an end may have another last period. */
  follow(): void {
    if (this.#goOn()) this.#show();
  }

  /** @returns whether the screen is another one. */
  #goOn(): boolean {
    const byMs = this.#latestMs() - this.#wanted.endMs;
    if (!this.#follows || byMs <= 0) return false;
    this.#move(byMs);
    return true;
  }

  /** @param by of the screen's width: negative to the past. */
  pan(by: number): void {
    this.#move((this.#wanted.endMs - this.#wanted.startMs) * by);
    this.#moved();
  }

  /** @param by factor of the span, around its middle; no further than to everything. */
  zoom(by: number): void {
    const { startMs, endMs } = this.#wanted;
    const half = Math.max((leastBars / 2) * intervalMs[this.#own], ((endMs - startMs) / 2) * by);
    const middle = (startMs + endMs) / 2;
    this.#wanted = { startMs: middle - half, endMs: middle + half };
    this.#keepInside();
    this.#moved();
  }

  /** The newest so much; infinite: everything. */
  showLast(spanMs: number): void {
    const endMs = this.#latestMs();
    const allMs = endMs - this.#earliestMs();
    const shownMs = Math.max(leastBars * intervalMs[this.#own], Math.min(spanMs, allMs));
    this.#wanted = { startMs: endMs - shownMs, endMs };
    this.#moved();
  }

  goTo(end: 'first' | 'last'): void {
    const spanMs = this.#wanted.endMs - this.#wanted.startMs;
    const startMs = end === 'first' ? this.#earliestMs() : this.#latestMs() - spanMs;
    this.#wanted = { startMs, endMs: startMs + spanMs };
    this.#moved();
  }

  /** Points at the next value on the screen, or the one before. */
  step(by: 1 | -1): void {
    const rows = this.view()?.rows ?? [];
    if (rows.length === 0) return;
    const at = rows.findIndex(([timeMs]) => timeMs === this.#pointedMs);
    const next =
      at === -1 ? (by === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
    const row = rows[next];
    if (row === undefined || this.#series === null || this.#loaded === null) return;
    this.#chart?.setCrosshairPosition(
      drawnValue(row[row.length > 2 ? 4 : 1] as string, drawnPower(this.#loaded)),
      secondsOf(row[0]),
      this.#series,
    );
    this.#point(row[0]);
  }

  view(): ChartView | null {
    const loaded = this.#loaded;
    if (loaded === null) return null;
    const { startMs, endMs } = this.#wanted;
    const isSeen = ([timeMs]: PointRow) => timeMs >= startMs && timeMs < endMs;
    return {
      ...{ kind: loaded.kind, interval: loaded.interval, startMs, endMs },
      rows: [...loaded.rows.values()].filter(isSeen).sort((one, other) => one[0] - other[0]),
      gaps: loaded.shades.filter(
        (shade) => shade.layer === 'gap' && shade.startMs < endMs && shade.endMs > startMs,
      ).length,
    };
  }

  /** The end of its last period; of what only begins in the future, of its first one. */
  #latestMs(): number {
    const { toMs, newestMs } = this.#detail;
    const ownMs = intervalMs[this.#own];
    const wantedMs = Math.min(toMs ?? Number.POSITIVE_INFINITY, this.#watcher.nowMs());
    const endMs = Math.max(wantedMs, (newestMs ?? 0) + ownMs, this.#earliestMs() + ownMs);
    return Math.ceil(endMs / ownMs) * ownMs;
  }

  #earliestMs(): number {
    return Math.min(this.#detail.fromMs, this.#detail.earliestMs ?? this.#detail.fromMs);
  }

  #move(byMs: number): void {
    this.#wanted = { startMs: this.#wanted.startMs + byMs, endMs: this.#wanted.endMs + byMs };
    this.#keepInside();
  }

  /** Everything there is, and for what is shorter than that: the first screen. */
  #mostMs(): number {
    return Math.max(this.#latestMs() - this.#earliestMs(), firstBars * intervalMs[this.#own]);
  }

  /** No more than everything is on the screen, and at least a part of it. */
  #keepInside(): void {
    const endMs = this.#latestMs();
    const mostMs = this.#mostMs();
    if (this.#wanted.endMs - this.#wanted.startMs >= mostMs)
      this.#wanted = { startMs: endMs - mostMs, endMs };
    else this.#keepSeen();
  }

  #keepSeen(): void {
    const { startMs, endMs } = this.#wanted;
    const edgeMs = (endMs - startMs) / 4;
    const shiftMs =
      Math.max(0, this.#earliestMs() + edgeMs - endMs) || Math.min(0, this.#latestMs() - edgeMs - startMs);
    this.#wanted = { startMs: startMs + shiftMs, endMs: endMs + shiftMs };
  }

  #moved(): void {
    this.#settle();
    this.#show();
  }

  #settle(): void {
    const periodMs = this.#loaded?.periodMs ?? intervalMs[this.#own];
    this.#follows = this.#wanted.endMs >= this.#latestMs() - periodMs;
  }

  #show(): void {
    // Of another interval the chart may have no room for so many bars: it is shown when its points are here.
    const interval = intervalFor(this.#wanted, this.#loaded, this.#bounds());
    if (this.#loaded?.interval === interval) this.#showWanted();
    void this.#ask();
  }

  /** The chart was moved by hand: the screen is where it is now. */
  #looked(): void {
    if (!this.#isByHand || this.#loaded === null) return;
    const range = this.#chart?.timeScale().getVisibleLogicalRange() ?? null;
    if (range === null) return;
    const { startMs, periodMs } = this.#loaded;
    this.#wanted = { startMs: startMs + range.from * periodMs, endMs: startMs + range.to * periodMs };
    // With room for rounding: everything can still be dragged.
    const isTooWide = (range.to - range.from) * periodMs > this.#mostMs() * 1.01;
    if (isTooWide) this.#keepInside();
    this.#settle();
    if (isTooWide) this.#showWanted();
    else this.#watcher.onView();
    void this.#ask();
  }

  /** Asks for what the screen lacks, until it lacks nothing. */
  async #ask(): Promise<void> {
    if (this.#isAsking) {
      this.#again = true;
      return;
    }
    this.#isAsking = true;
    try {
      do {
        this.#again = false;
        const held = this.#isStale ? null : this.#loaded;
        const missing = nextPiece(this.#wanted, held, this.#bounds());
        if (missing === null) continue;
        this.#tell(this.#isLacking());
        // A commit that comes before the answer makes this one stale as well.
        this.#isStale = false;
        const { interval, startMs, endMs } = missing;
        const points = await askPoints(this.#detail.id, interval, startMs, endMs);
        if (this.#chart === null) return;
        const piece = loadedFrom(points, intervalMs[interval]);
        this.#apply(held === null ? piece : joined(held, piece));
        this.#again = true;
      } while (this.#again);
      this.#tell(false);
    } catch (error) {
      this.#isStale = true;
      this.#watcher.onLoad(
        `The points could not be read: ${error instanceof Error ? error.message : String(error)}.`,
        true,
      );
    } finally {
      this.#isAsking = false;
    }
  }

  #tell(isReading: boolean): void {
    if (isReading) this.#watcher.onLoad('Reading what is stored.', false);
    else if (this.#loaded !== null) this.#watcher.onLoad(toldOf(this.#loaded, this.#own), false);
  }

  /** Whether a part of the screen shows nothing, or another interval than it should, until the answer is here. */
  #isLacking(): boolean {
    const held = this.#loaded;
    const bounds = this.#bounds();
    if (held === null || held.interval !== intervalFor(this.#wanted, held, bounds)) return true;
    const { startMs, endMs } = this.#wanted;
    const { earliestMs, latestMs } = bounds;
    return (
      (startMs < held.startMs && held.startMs > earliestMs) || (endMs > held.endMs && held.endMs < latestMs)
    );
  }

  #bounds(): Bounds {
    return {
      ...{ own: this.#own, mostBars: this.#mostBars() },
      ...{ earliestMs: this.#earliestMs(), latestMs: this.#latestMs() },
    };
  }

  /** Bars that the screen has room for. */
  #mostBars(): number {
    return Math.max(60, Math.min(mostPeriods / 4, Math.floor(this.#canvas.clientWidth / leastBarPx)));
  }

  #apply(loaded: Loaded): void {
    const chart = this.#chart;
    if (chart === null) return;
    const before = this.#loaded;
    if (this.#series === null || before?.kind !== loaded.kind) {
      if (this.#series !== null) chart.removeSeries(this.#series);
      this.#series =
        loaded.kind === 'candles'
          ? chart.addSeries(CandlestickSeries, seriesLooks())
          : chart.addSeries(LineSeries, seriesLooks());
    }
    this.#loaded = loaded;
    const power = drawnPower(loaded);
    this.#series.applyOptions({ priceFormat: formatFor(loaded, power) });
    this.#series.setData(barsOf(loaded, power) as CandlestickData[] & LineData[]);
    const lastPlace = secondsOf(loaded.endMs - loaded.periodMs);
    this.#holder?.setData(loaded.rows.size === 0 ? [{ time: lastPlace, value: 0 }] : []);
    this.#shading.shades = loaded.shades;
    this.#shading.update();
    // The chart keeps its distance from the last bar: where only older ones came, a hand that moves it goes on.
    const isLonger =
      before?.interval === loaded.interval && before.endMs === loaded.endMs && before.rows.size > 0;
    if (this.#isByHand && isLonger) this.#watcher.onView();
    else this.#showWanted();
  }

  #showWanted(): void {
    if (this.#loaded === null) return;
    this.#isByHand = false;
    const { startMs, endMs } = this.#wanted;
    this.#chart
      ?.timeScale()
      .setVisibleLogicalRange({ from: this.#placeOf(startMs), to: this.#placeOf(endMs) });
    this.#watcher.onView();
  }

  #placeOf(timeMs: number): number {
    return this.#loaded === null ? 0 : (timeMs - this.#loaded.startMs) / this.#loaded.periodMs;
  }

  #point(timeMs: number): void {
    this.#pointedMs = timeMs;
    const row = this.#loaded?.rows.get(timeMs) ?? null;
    const worst = worstAt(this.#loaded?.shades ?? [], timeMs);
    this.#watcher.onPoint({ timeMs, row, state: worst === null ? 'none was given' : layerNames[worst] });
  }
}
