/**
 * Panes below the candles: one for each other dataset of the market, on the time axis of the chart. Each loads the
 * loaded piece of the chart, at its own interval or a longer one whose periods start with those of the chart.
 */

import {
  createTextWatermark,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type ITextWatermarkPluginApi,
  LineSeries,
  type Time,
} from 'lightweight-charts';
import { datasets, datasetText } from '../../../model/datasets/index.ts';
import { type Interval, intervalMs } from '../../../model/intervals.ts';
import { subtract } from '../../../model/ranges.ts';
import { chartIntervals } from '../../chart-intervals.ts';
import type { ChartPane, PointRow } from '../../shapes.ts';
import { asSentence } from '../parts/format.ts';
import { layerNames } from '../parts/layers.ts';
import { fetchPoints } from '../state/server.ts';
import { barsOf, drawnPower, formatFor } from './bars.ts';
import { joinPieces, type Piece, requestParts, toPiece, worstStateIn } from './chart-piece.ts';
import { changeColours, colour, Shading, seriesStyle } from './chart-style.ts';

/** Of the height of the pane of prices. */
const paneShare = 0.25;

/** The newest value of a pane up to a time. */
export interface BesideValue {
  readonly name: string;
  readonly row: PointRow | null;
  readonly names: readonly string[];
  /** In place of a row: why there is none. */
  readonly state: string;
}

interface Drawn {
  readonly series: ISeriesApi<'Histogram' | 'Line'>;
  readonly shading: Shading;
  readonly title: ITextWatermarkPluginApi<Time>;
}

interface Pane {
  readonly of: ChartPane;
  readonly name: string;
  piece: Piece | null;
  /** What is loaded, or will be with the next response. */
  wanted: string;
  drawn: Drawn | null;
  trouble: string;
}

export class ChartPanes {
  readonly #chart: IChartApi;
  readonly #placeOf: (timeMs: number) => number;
  readonly #onChange: () => void;
  #panes: readonly Pane[] = [];
  #loaded: Piece | null = null;
  #isEnded = false;

  /** @param onChange values, or a trouble, have come or gone. */
  constructor(chart: IChartApi, placeOf: (timeMs: number) => number, onChange: () => void) {
    this.#chart = chart;
    this.#placeOf = placeOf;
    this.#onChange = onChange;
  }

  end(): void {
    this.#isEnded = true;
  }

  setPanes(panes: readonly ChartPane[]): void {
    if (panes.map(({ id }) => id).join() === this.#panes.map(({ of }) => of.id).join()) return;
    this.undraw();
    this.#panes = panes.map((of) => ({
      ...{ of, name: datasetText(of.dataset), piece: null, wanted: '', drawn: null, trouble: '' },
    }));
    this.load(this.#loaded);
  }

  /** Takes the panes off the chart until the next piece: what is above them changes. */
  undraw(): void {
    for (const pane of this.#panes) {
      if (pane.drawn !== null) this.#chart.removeSeries(pane.drawn.series);
      pane.drawn = null;
    }
  }

  /** @param loaded the piece of the chart. What failed is requested again. */
  load(loaded: Piece | null): void {
    this.#loaded = loaded;
    if (loaded === null) return;
    for (const pane of this.#panes) {
      // Values between the periods of the chart would shift every place on its axis.
      if (pane.piece !== null && pane.piece.periodMs % loaded.periodMs !== 0) pane.piece = null;
      this.#draw(pane);
      this.#ask(pane, loaded).catch((error) => {
        pane.wanted = '';
        pane.trouble = asSentence(`Cannot load ${pane.name}: ${(error as Error).message}`);
        this.#onChange();
      });
    }
  }

  /** Loads everything again, after a commit to one of the series. */
  reload(): void {
    for (const pane of this.#panes) pane.wanted = '';
    this.load(this.#loaded);
  }

  restyle(): void {
    for (const pane of this.#panes) this.#draw(pane);
  }

  get trouble(): string {
    return this.#panes.find(({ trouble }) => trouble !== '')?.trouble ?? '';
  }

  /** The loaded values, by their times. */
  values(): { name: string; names: readonly string[]; rows: Piece['rows'] }[] {
    return this.#panes.map(({ name, piece }) => ({ name, names: piece?.names ?? [], rows: piece?.rows ?? new Map() }));
  }

  at(timeMs: number): BesideValue[] {
    return this.#panes.map(({ name, piece, trouble }) => {
      if (piece === null) return { name, names: [], row: null, state: trouble === '' ? 'loading' : 'not loaded' };
      const { names, rows, shades, startMs, periodMs } = piece;
      let row: PointRow | null = null;
      for (const [at, one] of rows) if (at <= timeMs && at > (row?.[0] ?? Number.NEGATIVE_INFINITY)) row = one;
      // A value may be missing between.
      const fromMs = row === null ? startMs : row[0] + periodMs;
      const state = fromMs > timeMs ? null : worstStateIn(shades, { startMs: fromMs, endMs: timeMs + 1 });
      const isKnown = row !== null && (state === null || state === 'empty');
      const why = `no value, ${state === null ? 'no data' : layerNames[state]}`;
      return { name, names, row: isKnown ? row : null, state: why };
    });
  }

  async #ask(pane: Pane, { startMs, endMs, periodMs }: Piece): Promise<void> {
    const interval = chartIntervals(pane.of.interval as Interval).find((one) => intervalMs[one] % periodMs === 0);
    const wanted = `${interval} ${startMs} ${endMs}`;
    if (interval === undefined || wanted === pane.wanted) return;
    const isStale = pane.wanted === '';
    pane.wanted = wanted;
    pane.trouble = '';
    const held = isStale || pane.piece?.interval !== interval ? null : pane.piece;
    const missing = subtract([{ startMs, endMs }], held === null ? [] : [held]);
    const ms = intervalMs[interval];
    const parts = missing.flatMap((part) => requestParts(part, ms));
    const points = await Promise.all(parts.map((part) => fetchPoints(pane.of.id, interval, part.startMs, part.endMs)));
    // Another piece may be wanted meanwhile.
    if (this.#isEnded || pane.wanted !== wanted) return;
    const pieces = points.map((one) => toPiece(one, ms));
    pane.piece = [...(held === null ? [] : [held]), ...pieces].reduce(joinPieces);
    this.#draw(pane);
    this.#onChange();
  }

  #draw(pane: Pane): void {
    const [loaded, { piece, name }] = [this.#loaded, pane];
    if (loaded === null) return;
    // Before it is loaded, so that panes have the order of the list.
    pane.drawn ??= this.#add(pane.of);
    const { series, shading, title } = pane.drawn;
    const text = piece?.rows.size === 0 ? `${name}: no stored data in this range` : name;
    title.applyOptions({ lines: [{ text, color: colour('--muted'), fontSize: 12 }] });
    if (piece === null) {
      series.setData([]);
      return;
    }
    const power = drawnPower(piece);
    series.applyOptions({ ...seriesStyle(), priceFormat: formatFor(piece, power), priceLineVisible: false });
    // Those outside of the chart's piece would shift it too.
    const bars = barsOf(piece, power, changeColours()).filter(({ time }) => {
      const timeMs = Number(time) * 1000;
      return timeMs >= loaded.startMs && timeMs < loaded.endMs;
    });
    series.setData(bars as Parameters<typeof series.setData>[0]);
    shading.shades = piece.shades;
    shading.update();
  }

  #add({ dataset }: ChartPane): Drawn {
    const series = this.#chart.addSeries(
      datasets[dataset].chart === 'bars' ? HistogramSeries : LineSeries,
      { lastValueVisible: false },
      this.#chart.panes().length,
    ) as Drawn['series'];
    const pane = series.getPane();
    pane.setStretchFactor(paneShare);
    const shading = new Shading(this.#placeOf);
    pane.attachPrimitive(shading);
    return { series, shading, title: createTextWatermark(pane, { horzAlign: 'left', vertAlign: 'top' }) };
  }
}
