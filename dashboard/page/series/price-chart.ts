/**
 * A chart of one series over its whole history, of which it loads one piece.
 *
 * The piece has the finest interval whose periods all fit on the screen. Moving near an end of the piece loads the next
 * piece, and changing the span may load another interval. There is one request at a time, and after each response the
 * screen is checked again. Doubles are for drawing only; displayed values are the stored text.
 */

import {
  type CandlestickData,
  CandlestickSeries,
  createChartEx,
  type HistogramData,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type LineData,
  LineSeries,
  MismatchDirection,
  PriceScaleMode,
} from 'lightweight-charts';
import { type Interval, intervalMs } from '../../../model/intervals.ts';
import { overlaps, type Range } from '../../../model/ranges.ts';
import { chartIntervals, maxPeriods } from '../../chart-intervals.ts';
import type { PointRow, SeriesDetail, StoredEvent } from '../../shapes.ts';
import { asSentence, formatCount } from '../parts/format.ts';
import { layerNames } from '../parts/layers.ts';
import { fetchPoints } from '../state/server.ts';
import {
  barsOf,
  type Change,
  changeOf,
  describePoints,
  drawnPower,
  drawnValue,
  formatFor,
  measured,
  priceOf,
  secondsOf,
  volumesOf,
} from './bars.ts';
import { type BesideValue, ChartPanes } from './chart-panes.ts';
import {
  type Bounds,
  intervalFor,
  joinPieces,
  nextPiece,
  type Piece,
  requestParts,
  toPiece,
  worstStateIn,
} from './chart-piece.ts';
import {
  changeColours,
  chartStyle,
  colour,
  onTheme,
  Shading,
  seriesStyle,
  timeStyle,
  volumeStyle,
  zonedScale,
} from './chart-style.ts';
import type { Zone } from './zone.ts';

export interface Pointed {
  readonly timeMs: number;
  readonly row: PointRow | null;
  /** From the value before; null: none is known. */
  readonly change: Change | null;
  readonly names: readonly string[];
  /** The worst state of the time; of one without a row it is the reason. */
  readonly state: string;
  /** Of the panes below. */
  readonly beside: readonly BesideValue[];
}

/** The other series of a comparison. */
interface Compared {
  readonly id: number;
  readonly name: string;
  readonly interval: string;
}

export type ComparedState = 'loading' | 'loaded' | 'failed';

/** The first and the last value of a series on the screen. */
export interface Span extends Range {
  readonly first: string;
  readonly last: string;
}

/** What the reader chose to see. */
export interface Chosen {
  /** Null: the finest that fits the screen. */
  readonly interval: Interval | null;
  readonly isLogarithmic: boolean;
  /** Null: the newest part. */
  readonly range: Range | null;
  /** Length of the newest part, infinite: the whole series; null: as a chart begins. */
  readonly spanMs: number | null;
}

interface ChartEvents {
  readonly nowMs: () => number;
  readonly onPoint: (pointed: Pointed | null) => void;
  readonly onLoad: (text: string, isTrouble: boolean) => void;
  readonly onView: () => void;
  /** Of a drag that chooses a range, while it lasts and at its end. */
  readonly onChoose: (range: Range, isEnded: boolean) => void;
}

/** Smallest width of a bar in pixels; below it a coarser interval is shown. */
const minBarPx = 2.5;
const firstBars = 150;
const minBars = 10;
/** Bars of a chosen interval on one screen, at most. */
const maxChosenBars = 1500;
const volumePane = 1;
/** Of the height of the pane of prices. */
const volumeShare = 0.25;

type AnySeries = ISeriesApi<'Candlestick'> | ISeriesApi<'Line'> | ISeriesApi<'Histogram'>;

export class PriceChart {
  readonly #canvas: HTMLElement;
  readonly #watcher: ChartEvents;
  #detail: SeriesDetail;
  #chart: IChartApi | null = null;
  #series: AnySeries | null = null;
  /** In a pane of its own below the candles; null: there are none. */
  #volumes: ISeriesApi<'Histogram'> | null = null;
  #panes: ChartPanes | null = null;
  #isLogarithmic = false;
  /** Chosen by the reader; null: the finest that fits the screen. */
  #interval: Interval | null = null;
  #compared: Compared | null = null;
  #comparedLine: ISeriesApi<'Line'> | null = null;
  #comparedRows: ReadonlyMap<number, PointRow> = new Map();
  /** Of which piece and series the compared rows are. */
  #comparedOf = '';
  #isComparedLoaded = false;
  /** Why the compared series cannot be loaded; empty: it can. */
  #comparedTrouble = '';
  readonly #zone: Zone;
  /** Invisible: an empty piece needs one value, so that the chart has a time scale. */
  #holder: ISeriesApi<'Line'> | null = null;
  #loaded: Piece | null = null;
  readonly #shading: Shading;
  /** The visible range by time. It does not depend on the piece. */
  #wanted: Range = { startMs: 0, endMs: 0 };
  /** Whether the screen is at the end of the series and moves on with it. */
  #follows = true;
  /** Whether the piece was requested before the last commit. */
  #isStale = false;
  #isAsking = false;
  /** Whether the user moved the chart directly. Only then the chart's visible range determines the screen. */
  #isByHand = false;
  #again = false;
  /** Whether the reader moved the screen since `takeMove`. */
  #isMoved = false;
  #pointedMs: number | null = null;
  #isPointedByKey = false;
  #release: () => void = () => {};

  /** @param zone of the axis, which another chart has to change. */
  constructor(canvas: HTMLElement, detail: SeriesDetail, zone: Zone, watcher: ChartEvents) {
    this.#canvas = canvas;
    this.#zone = zone;
    this.#detail = detail;
    this.#watcher = watcher;
    this.#shading = new Shading((timeMs) => this.#placeOf(timeMs));
  }

  get #own(): Interval {
    return this.#detail.interval as Interval;
  }

  begin(): void {
    // Before the chart has its own: what it then tells of its range is no move of the reader.
    const resized = new ResizeObserver(() => {
      this.#isByHand = false;
      this.#show();
    });
    resized.observe(this.#canvas);
    const scale = zonedScale(this.#zone);
    const chart: IChartApi = createChartEx(this.#canvas, scale, { autoSize: true, ...chartStyle() });
    // Not in the same object: both styles have options of the time scale, which the chart joins.
    chart.applyOptions(timeStyle(this.#zone));
    this.#chart = chart;
    this.#panes = new ChartPanes(
      chart,
      (timeMs) => this.#placeOf(timeMs),
      () => {
        if (!this.#isAsking) this.#tell(false);
        this.#watcher.onView();
      },
    );
    this.#panes.setPanes(this.#detail.panes);
    this.#holder = chart.addSeries(LineSeries, { visible: false, priceScaleId: '' });
    chart.panes()[0]?.attachPrimitive(this.#shading);
    const hand = (event: Event) => {
      if (event.type !== 'pointermove' || (event as PointerEvent).buttons !== 0) this.#isByHand = true;
    };
    for (const type of ['wheel', 'pointerdown', 'pointermove', 'touchmove'])
      this.#canvas.addEventListener(type, hand, { capture: true, passive: true });
    this.#chooseByDrag();
    chart.timeScale().subscribeVisibleLogicalRangeChange(() => {
      this.#takeVisibleRange();
      // The first visible bars are 100.
      if (this.#compared !== null) this.#watcher.onView();
    });
    chart.subscribeCrosshairMove(({ time, sourceEvent }) => {
      // The chart keeps the place of the crosshair when its range moves, so that a key's value would become another.
      if (sourceEvent !== undefined) this.#isPointedByKey = false;
      else if (this.#isPointedByKey) return;
      if (typeof time === 'number') this.#point(time * 1000);
      else if (time === undefined) this.#watcher.onPoint(null);
    });
    const endTheme = onTheme(() => {
      chart.applyOptions(chartStyle());
      this.#series?.applyOptions(seriesStyle());
      this.#drawBars();
      this.#drawVolumes();
      this.#panes?.restyle();
      this.#shading.update();
    });
    this.#release = () => {
      resized.disconnect();
      endTheme();
    };
  }

  /** A drag with Shift measures and chooses a range; one without moves the chart. */
  #chooseByDrag(): void {
    let fromMs: number | null = null;
    const choose = (event: PointerEvent, isEnded: boolean) => {
      const toMs = this.#periodAt(event);
      if (fromMs === null || toMs === null || this.#loaded === null) return;
      const range = { startMs: Math.min(fromMs, toMs), endMs: Math.max(fromMs, toMs) + this.#loaded.periodMs };
      if (isEnded) fromMs = null;
      this.#watcher.onChoose(range, isEnded);
    };
    this.#canvas.addEventListener(
      'pointerdown',
      (event) => {
        if (!event.shiftKey || event.button !== 0) return;
        fromMs = this.#periodAt(event);
        // Without this the chart would be told of a mouse.
        event.preventDefault();
        this.#canvas.setPointerCapture(event.pointerId);
        choose(event, false);
      },
      { capture: true },
    );
    this.#canvas.addEventListener('pointermove', (event) => choose(event, false));
    this.#canvas.addEventListener('pointerup', (event) => choose(event, true));
    this.#canvas.addEventListener('pointercancel', () => {
      fromMs = null;
    });
  }

  /** The period under a pointer; null: nothing is loaded. */
  #periodAt({ clientX }: PointerEvent): number | null {
    const x = clientX - this.#canvas.getBoundingClientRect().left;
    const place = this.#chart?.timeScale().coordinateToLogical(x) ?? null;
    if (place === null || this.#loaded === null) return null;
    const last = (this.#loaded.endMs - this.#loaded.startMs) / this.#loaded.periodMs - 1;
    return this.#loaded.startMs + Math.max(0, Math.min(last, Math.round(place))) * this.#loaded.periodMs;
  }

  /** Marks a range. @param range null: none. */
  setChosen(range: Range | null): void {
    this.#shading.chosen = range;
    this.#shading.update();
  }

  /** Outages, bans, pauses and upgrades. */
  setMarks(marks: readonly StoredEvent[]): void {
    this.#shading.marks = marks;
    this.#shading.update();
  }

  /** What is loaded; null: nothing yet. */
  get piece(): Range | null {
    return this.#loaded;
  }

  /** The change and the extremes of a range; empty: nothing of it is loaded. */
  measure(range: Range): string {
    return this.#loaded === null ? '' : measured(this.#loaded, range);
  }

  end(): void {
    this.#release();
    this.#panes?.end();
    this.#chart?.remove();
    this.#chart = null;
  }

  /** Reloads the screen after a commit. */
  refresh(detail: SeriesDetail): void {
    this.#detail = detail;
    this.#panes?.setPanes(detail.panes);
    this.#isStale = true;
    this.#goOn();
    void this.#ask();
  }

  /** Reloads the panes after a commit to their series. */
  refreshPanes(): void {
    this.#panes?.reload();
  }

  /** Requests again what failed. */
  retry(): void {
    this.#tryCompared();
    this.#panes?.load(this.#loaded);
    void this.#ask();
  }

  /** Moves a screen at the end of the series when a new period has begun. */
  follow(): void {
    if (this.#goOn()) this.#show();
  }

  /** @returns whether the screen moved. */
  #goOn(): boolean {
    const byMs = this.#latestMs() - this.#wanted.endMs;
    if (!this.#follows || byMs <= 0) return false;
    this.#move(byMs);
    return true;
  }

  /** Shows what the address has. @returns false: the chosen interval has less room than the span. */
  show({ interval, isLogarithmic, range, spanMs }: Chosen): boolean {
    this.#interval = null;
    if (range === null) {
      const endMs = this.#latestMs();
      const bars = Math.min(firstBars, this.#maxBars());
      this.#wanted = { startMs: endMs - bars * intervalMs[this.#own], endMs };
    } else this.#placeRange(range);
    this.#placeInterval(interval);
    const isWhole = range !== null || spanMs === null || this.#placeLast(spanMs);
    this.setLogarithmic(isLogarithmic);
    this.#moved();
    return isWhole;
  }

  /** @returns whether the reader has moved the screen since the last call, by hand or by a key. */
  takeMove(): boolean {
    const isMoved = this.#isMoved;
    this.#isMoved = false;
    return isMoved;
  }

  /** @param by share of the screen's width; negative: into the past. */
  pan(by: number): void {
    this.#isMoved = true;
    this.#move((this.#wanted.endMs - this.#wanted.startMs) * by);
    this.#moved();
  }

  /** @param by factor of the span around its middle. The span is at most the whole series. */
  zoom(by: number): void {
    this.#isMoved = true;
    const { startMs, endMs } = this.#wanted;
    const half = Math.max((minBars / 2) * intervalMs[this.#own], ((endMs - startMs) / 2) * by);
    const middle = (startMs + endMs) / 2;
    this.#wanted = { startMs: middle - half, endMs: middle + half };
    this.#keepInside();
    this.#moved();
  }

  /** Shows the newest `spanMs`; infinite: the whole series. @returns false: the chosen interval has less room. */
  showLast(spanMs: number): boolean {
    const isWhole = this.#placeLast(spanMs);
    this.#moved();
    return isWhole;
  }

  #placeLast(spanMs: number): boolean {
    const endMs = this.#latestMs();
    const wholeMs = Math.min(spanMs, endMs - this.#earliestMs());
    const shownMs = Math.max(minBars * intervalMs[this.#own], Math.min(wholeMs, this.#maxMs()));
    this.#wanted = { startMs: endMs - shownMs, endMs };
    return shownMs >= wholeMs;
  }

  /** A range and, where it is short, what is around it. */
  #placeRange({ startMs, endMs }: Range): void {
    const leastMs = minBars * intervalMs[this.#own];
    const aroundMs = Math.max(0, (leastMs - (endMs - startMs)) / 2);
    this.#wanted = { startMs: startMs - aroundMs, endMs: endMs + aroundMs };
    this.#keepInside();
  }

  /** Whether equal distances are equal ratios. Values of zero or less have no place on such a scale. */
  setLogarithmic(isLogarithmic: boolean): void {
    this.#isLogarithmic = isLogarithmic;
    this.#applyScale();
  }

  #applyScale(): void {
    const { Logarithmic, Normal, IndexedTo100 } = PriceScaleMode;
    const mode = this.#compared !== null ? IndexedTo100 : this.#isLogarithmic ? Logarithmic : Normal;
    this.#series?.priceScale().applyOptions({ mode });
  }

  /** @param interval null: the finest that fits the screen. The screen holds 10 to 1,500 of its bars. */
  chooseInterval(interval: Interval | null): void {
    this.#placeInterval(interval);
    this.#moved();
  }

  #placeInterval(interval: Interval | null): void {
    this.#interval = interval;
    if (interval !== null) {
      const { startMs, endMs } = this.#wanted;
      const [leastMs, mostMs] = [minBars * intervalMs[interval], maxChosenBars * intervalMs[interval]];
      const spanMs = Math.min(Math.max(endMs - startMs, leastMs), mostMs);
      this.#wanted = { startMs: endMs - spanMs, endMs };
    }
  }

  /** Draws another series beside this one, both as parts of 100 at the left edge of the screen. */
  setCompared(compared: Compared | null): void {
    this.#compared = compared;
    this.#comparedOf = '';
    this.#comparedRows = new Map();
    this.#isComparedLoaded = false;
    if (this.#comparedTrouble !== '') {
      this.#comparedTrouble = '';
      this.#tell(false);
    }
    this.#applyScale();
    if (compared === null && this.#comparedLine !== null) {
      this.#chart?.removeSeries(this.#comparedLine);
      this.#comparedLine = null;
      this.#watcher.onView();
    }
    this.#drawCompared();
    this.#tryCompared();
  }

  #tryCompared(): void {
    this.#askCompared().catch((error) => {
      // The next piece, or `retry`, tries again.
      this.#comparedOf = '';
      this.#comparedTrouble = asSentence(`Cannot load the other series: ${(error as Error).message}`);
      this.#tell(false);
    });
  }

  /** Loads the compared series for the loaded piece. */
  async #askCompared(): Promise<void> {
    const [chart, compared, loaded] = [this.#chart, this.#compared, this.#loaded];
    if (chart === null || compared === null || loaded === null) return;
    const { interval, startMs, endMs } = loaded;
    const wanted = `${compared.id} ${interval} ${startMs} ${endMs}`;
    if (wanted === this.#comparedOf) return;
    this.#comparedOf = wanted;
    this.#comparedTrouble = '';
    const isOffered = chartIntervals(compared.interval as Interval).includes(interval as Interval);
    // Joined pieces are longer than one response.
    const parts = isOffered ? requestParts(loaded, loaded.periodMs) : [];
    const points = await Promise.all(parts.map((part) => fetchPoints(compared.id, interval, part.startMs, part.endMs)));
    // Another series, piece or page may be wanted meanwhile.
    if (this.#chart === null || this.#comparedOf !== wanted) return;
    this.#comparedRows = new Map(points.flatMap(({ rows }) => rows.map((row) => [row[0], row] as const)));
    this.#isComparedLoaded = true;
    this.#comparedLine ??= chart.addSeries(LineSeries, {
      color: colour('--compared'),
      lineWidth: 2,
      lastValueVisible: true,
      priceLineVisible: false,
    });
    this.#drawCompared();
    this.#watcher.onView();
  }

  /** The time axis has the times of both lines: one outside of the piece would shift every place on it. */
  #drawCompared(): void {
    const { startMs, endMs } = this.#loaded ?? { startMs: 0, endMs: 0 };
    this.#comparedLine?.setData(
      [...this.#comparedRows.values()]
        .filter(([timeMs]) => timeMs >= startMs && timeMs < endMs)
        .map((row) => ({ time: secondsOf(row[0]), value: Number(priceOf(row)) }))
        .filter(({ value }) => Number.isFinite(value)),
    );
  }

  /** Of the values of the compared series at the interval of the screen. */
  get comparedState(): ComparedState {
    if (this.#comparedTrouble !== '') return 'failed';
    return this.#isComparedLoaded ? 'loaded' : 'loading';
  }

  /** Both series at the ends of the screen; null: one has no value there. */
  comparison(): { own: Span; other: Span } | null {
    if (this.#series === null || this.#comparedLine === null || this.#loaded === null) return null;
    const own = this.#spanOf(this.#series, this.#loaded.rows);
    const other = this.#spanOf(this.#comparedLine, this.#comparedRows);
    return own === null || other === null ? null : { own, other };
  }

  /** Of the bars that the chart takes for its axis: those at the edges count, however little of them is visible. */
  #spanOf(series: AnySeries, rows: ReadonlyMap<number, PointRow>): Span | null {
    const visible = this.#chart?.timeScale().getVisibleLogicalRange() ?? null;
    if (visible === null) return null;
    const { NearestLeft, NearestRight } = MismatchDirection;
    const rowOf = (place: number, direction: MismatchDirection) =>
      rows.get(Number(series.dataByIndex(place, direction)?.time) * 1000);
    const first = rowOf(Math.floor(visible.from), NearestRight);
    const last = rowOf(Math.ceil(visible.to), NearestLeft);
    if (first === undefined || last === undefined || first[0] > last[0]) return null;
    return { startMs: first[0], endMs: last[0], first: priceOf(first), last: priceOf(last) };
  }

  /** The newest value of the series; null: it is not loaded. */
  get newest(): PointRow | null {
    if (this.#loaded === null || !this.#isNewest()) return null;
    return [...this.#loaded.rows.values()].reduce<PointRow | null>(
      (last, row) => (last === null || row[0] > last[0] ? row : last),
      null,
    );
  }

  /** From the loaded value before. */
  changeOf(row: PointRow): Change | null {
    return this.#loaded === null ? null : changeOf(this.#loaded, row);
  }

  /** Length of the screen, if it ends with the series; else null. */
  get lastMs(): number | null {
    const { startMs, endMs } = this.#wanted;
    return endMs === this.#latestMs() ? endMs - startMs : null;
  }

  #isNewest(): boolean {
    return this.#loaded !== null && this.#loaded.endMs >= this.#latestMs();
  }

  goTo(end: 'first' | 'last'): void {
    this.#isMoved = true;
    const spanMs = this.#wanted.endMs - this.#wanted.startMs;
    const startMs = end === 'first' ? this.#earliestMs() : this.#latestMs() - spanMs;
    this.#wanted = { startMs, endMs: startMs + spanMs };
    this.#moved();
  }

  /** Points at the next or previous value on the screen. */
  step(by: 1 | -1): void {
    const rows = this.view()?.rows ?? [];
    if (rows.length === 0) return;
    const at = rows.findIndex(([timeMs]) => timeMs === this.#pointedMs);
    const next = at === -1 ? (by === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
    const row = rows[next];
    if (row === undefined || this.#series === null || this.#loaded === null) return;
    this.#isPointedByKey = true;
    this.#chart?.setCrosshairPosition(
      drawnValue(priceOf(row), drawnPower(this.#loaded)),
      secondsOf(row[0]),
      this.#series,
    );
    this.#point(row[0]);
  }

  /** The part of the loaded piece that is on the screen. */
  view() {
    const loaded = this.#loaded;
    if (loaded === null) return null;
    const { startMs, endMs } = this.#wanted;
    const isSeen = ([timeMs]: PointRow) => timeMs >= startMs && timeMs < endMs;
    return {
      kind: loaded.kind,
      names: loaded.names,
      panes: this.#panes?.values() ?? [],
      interval: loaded.interval,
      startMs,
      endMs,
      rows: [...loaded.rows.values()].filter(isSeen).sort((one, other) => one[0] - other[0]),
      gaps: loaded.shades.filter((shade) => shade.layer === 'gap' && overlaps(shade, this.#wanted)).length,
    };
  }

  /** End of the last period, or of the first one if the series begins in the future. */
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

  /** Length of the series, at least that of the first screen. */
  #maxMs(): number {
    const allMs = Math.max(this.#latestMs() - this.#earliestMs(), firstBars * intervalMs[this.#own]);
    return this.#interval === null ? allMs : Math.min(allMs, maxChosenBars * intervalMs[this.#interval]);
  }

  /** Limits the screen to the length of the series and keeps a part of the series visible. */
  #keepInside(): void {
    const endMs = this.#latestMs();
    const maxMs = this.#maxMs();
    if (this.#wanted.endMs - this.#wanted.startMs < maxMs) this.#keepSeen();
    else if (this.#interval === null) this.#wanted = { startMs: endMs - maxMs, endMs };
    else {
      const middleMs = (this.#wanted.startMs + this.#wanted.endMs) / 2;
      this.#wanted = { startMs: middleMs - maxMs / 2, endMs: middleMs + maxMs / 2 };
      this.#keepSeen();
    }
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
    // Another interval may need more bars than the chart has room for, so it is shown once its points are loaded.
    const interval = intervalFor(this.#wanted, this.#loaded, this.#bounds());
    if (this.#loaded?.interval === interval) this.#showWanted();
    void this.#ask();
  }

  /** Takes over the chart's visible range after the user moved it. */
  #takeVisibleRange(): void {
    if (!this.#isByHand || this.#loaded === null) return;
    const range = this.#chart?.timeScale().getVisibleLogicalRange() ?? null;
    if (range === null) return;
    this.#isMoved = true;
    const { startMs, periodMs } = this.#loaded;
    this.#wanted = { startMs: startMs + range.from * periodMs, endMs: startMs + range.to * periodMs };
    // With room for rounding, so that the whole series can still be dragged.
    const isTooWide = (range.to - range.from) * periodMs > this.#maxMs() * 1.01;
    if (isTooWide) this.#keepInside();
    this.#settle();
    if (isTooWide) this.#showWanted();
    else this.#watcher.onView();
    void this.#ask();
  }

  /** Loads pieces until the screen is complete. */
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
        this.#tell(this.#isIncomplete());
        // A commit before the response makes this piece stale as well.
        this.#isStale = false;
        const { interval, startMs, endMs } = missing;
        const points = await fetchPoints(this.#detail.id, interval, startMs, endMs);
        if (this.#chart === null) return;
        const piece = toPiece(points, intervalMs[interval]);
        this.#apply(held === null ? piece : joinPieces(held, piece));
        this.#again = true;
      } while (this.#again);
      this.#tell(false);
    } catch (error) {
      this.#isStale = true;
      const message = error instanceof Error ? error.message : String(error);
      this.#watcher.onLoad(asSentence(`Cannot load points: ${message}`), true);
    } finally {
      this.#isAsking = false;
    }
  }

  #tell(isReading: boolean): void {
    const trouble = this.#comparedTrouble || (this.#panes?.trouble ?? '');
    if (isReading) this.#watcher.onLoad('Loading.', false);
    else if (trouble !== '') this.#watcher.onLoad(trouble, true);
    else if (this.#loaded !== null)
      this.#watcher.onLoad(`${describePoints(this.#loaded, this.#own)}${this.#limitText()}`, false);
  }

  /** That the chosen interval limits the screen. */
  #limitText(): string {
    const { startMs, endMs } = this.#wanted;
    if (this.#interval === null || endMs - startMs < maxChosenBars * intervalMs[this.#interval]) return '';
    return ` A screen has at most ${formatCount(maxChosenBars)} of them.`;
  }

  /** Whether a part of the screen is empty or has the wrong interval until the response arrives. */
  #isIncomplete(): boolean {
    const held = this.#loaded;
    const bounds = this.#bounds();
    if (held === null || held.interval !== intervalFor(this.#wanted, held, bounds)) return true;
    const { startMs, endMs } = this.#wanted;
    const { earliestMs, latestMs } = bounds;
    return (startMs < held.startMs && held.startMs > earliestMs) || (endMs > held.endMs && held.endMs < latestMs);
  }

  #bounds(): Bounds {
    return {
      own: this.#own,
      chosen: this.#interval,
      maxBars: this.#maxBars(),
      earliestMs: this.#earliestMs(),
      latestMs: this.#latestMs(),
    };
  }

  /** Bars that the screen has room for. */
  #maxBars(): number {
    return Math.max(60, Math.min(maxPeriods / 4, Math.floor(this.#canvas.clientWidth / minBarPx)));
  }

  #apply(loaded: Piece): void {
    const chart = this.#chart;
    if (chart === null) return;
    const before = this.#loaded;
    if (this.#series === null || before?.kind !== loaded.kind) {
      this.#panes?.undraw();
      if (this.#series !== null) chart.removeSeries(this.#series);
      const series = { candles: CandlestickSeries, line: LineSeries, bars: HistogramSeries }[loaded.kind];
      this.#series = chart.addSeries(series, seriesStyle()) as AnySeries;
      if (this.#volumes !== null) chart.removeSeries(this.#volumes);
      const hasVolumes = loaded.names.includes('volume');
      this.#volumes = hasVolumes ? chart.addSeries(HistogramSeries, volumeStyle, volumePane) : null;
      chart.panes()[volumePane]?.setStretchFactor(volumeShare);
      this.#applyScale();
    }
    this.#loaded = loaded;
    if (before?.interval !== loaded.interval) {
      this.#isByHand = false;
      this.#comparedRows = new Map();
      this.#isComparedLoaded = false;
      // The value at which a key pointed is none of this interval.
      if (this.#isPointedByKey) {
        this.#isPointedByKey = false;
        this.#pointedMs = null;
        chart.clearCrosshairPosition();
        this.#watcher.onPoint(null);
      }
    }
    this.#drawCompared();
    this.#tryCompared();
    this.#panes?.load(loaded);
    const power = drawnPower(loaded);
    // A line at the last price, unless the newest points are elsewhere.
    const isNewest = this.#isNewest();
    this.#series.applyOptions({
      priceFormat: formatFor(loaded, power),
      priceLineVisible: isNewest,
      lastValueVisible: isNewest,
    });
    this.#drawBars();
    this.#drawVolumes();
    const lastPlace = secondsOf(loaded.endMs - loaded.periodMs);
    this.#holder?.setData(loaded.rows.size === 0 ? [{ time: lastPlace, value: 0 }] : []);
    this.#shading.shades = loaded.shades;
    this.#shading.update();
    // The chart keeps its distance from the last bar, so a drag continues when only older bars were added.
    const isLonger = before?.interval === loaded.interval && before.endMs === loaded.endMs && before.rows.size > 0;
    if (this.#isByHand && isLonger) this.#watcher.onView();
    else this.#showWanted();
  }

  #drawBars(): void {
    if (this.#loaded === null) return;
    const bars = barsOf(this.#loaded, drawnPower(this.#loaded), changeColours());
    this.#series?.setData(bars as CandlestickData[] & LineData[] & HistogramData[]);
  }

  #drawVolumes(): void {
    const loaded = this.#loaded;
    if (loaded === null || this.#volumes === null) return;
    const power = drawnPower(loaded, 'volumes');
    this.#volumes.applyOptions({ priceFormat: formatFor(loaded, power, 'volumes') });
    this.#volumes.setData(volumesOf(loaded, power, changeColours()));
  }

  #showWanted(): void {
    if (this.#loaded === null) return;
    this.#isByHand = false;
    const { startMs, endMs } = this.#wanted;
    this.#chart?.timeScale().setVisibleLogicalRange({ from: this.#placeOf(startMs), to: this.#placeOf(endMs) });
    this.#watcher.onView();
  }

  #placeOf(timeMs: number): number {
    return this.#loaded === null ? 0 : (timeMs - this.#loaded.startMs) / this.#loaded.periodMs;
  }

  #point(timeMs: number): void {
    this.#pointedMs = timeMs;
    const row = this.#loaded?.rows.get(timeMs) ?? null;
    const { shades = [], names = [], kind } = this.#loaded ?? {};
    const worst = worstStateIn(shades, { startMs: timeMs, endMs: timeMs + 1 });
    const quiet = kind === 'bars' ? 'no event' : 'no data';
    this.#watcher.onPoint({
      timeMs,
      row,
      change: row === null ? null : this.changeOf(row),
      names,
      state: worst === null ? quiet : layerNames[worst],
      beside: this.#panes?.at(timeMs) ?? [],
    });
  }
}
