/** The content of an export: pages of points, and its description. */

import type pg from 'pg';
import type { EpochMs } from '../../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../../contract/series.ts';
import { TidemarkError } from '../../errors.ts';
import { type Layout, layouts, type Rows, timeText } from '../../files/layout.ts';
import type { Digits } from '../../files/parquet-schema.ts';
import type { SidecarText } from '../../files/sidecar.ts';
import { counted, formatTime } from '../../format.ts';
import type { Range } from '../../planning/ranges.ts';
import {
  type ExportSize,
  measureExport,
  measureRatesExport,
  type RatesQuery,
  readExportCurrencies,
  readExportPages,
  readRatesPages,
  seriesNames,
} from '../../store/transfer/export-points.ts';
import {
  type ExportedSeries,
  type ExportQuery,
  readExportSeries,
} from '../../store/transfer/export-series.ts';

export interface ExportSource {
  readonly layout: Layout;
  /** The time of the snapshot. */
  readonly atMs: EpochMs;
  readonly points: number;
  readonly series: number;
  readonly gaps: number;
  /** The earliest end of the exported ranges; null: the points have no coverage. */
  readonly untilMs: EpochMs | null;
  /** Per value column. */
  readonly digits: readonly Digits[];
  rows(): AsyncGenerator<Rows>;
  /** For the sidecar. */
  readonly about: Pick<SidecarText, 'dataset' | 'series'>;
}

/** Gaps named in the error; the others are counted. */
const maxNamed = 5;

/** @throws TidemarkError RANGE_HAS_GAPS, UNKNOWN_SERIES, BAD_ARGUMENT */
export async function seriesExportSource(
  client: pg.PoolClient,
  query: ExportQuery & { readonly allowGaps: boolean },
): Promise<ExportSource> {
  const all = await readExportSeries(client, query);
  const gaps = all.flatMap((one) => one.gaps.map((gap) => ({ ...gap, series: one.series })));
  if (gaps.length > 0 && !query.allowGaps) throw refusal(gaps);
  const sizes: ExportSize[] = [];
  for (const one of all) sizes.push(await measureExport(client, one));
  const dataset = query.series[0]?.dataset ?? 'candles';
  return {
    layout: layouts[dataset],
    atMs: query.nowMs,
    ...totalOf(sizes, layouts[dataset]),
    series: all.length,
    gaps: gaps.length,
    untilMs: Math.min(...all.map(({ range }) => range.endMs)),
    async *rows() {
      for (const one of all) {
        const names = seriesNames(one.series);
        for await (const page of readExportPages(client, one)) yield rowsOf(names, page);
      }
    },
    about: aboutSeries(dataset, all, sizes),
  };
}

/** @throws TidemarkError UNKNOWN_SERIES */
export async function rateExportSource(
  client: pg.PoolClient,
  query: RatesQuery & { readonly nowMs: EpochMs },
): Promise<ExportSource> {
  const all = await readExportCurrencies(client, query);
  const sizes: ExportSize[] = [];
  for (const one of all) sizes.push(await measureRatesExport(client, one, query));
  return {
    layout: layouts.rates,
    atMs: query.nowMs,
    ...totalOf(sizes, layouts.rates),
    series: all.length,
    gaps: 0,
    untilMs: null,
    async *rows() {
      for (const one of all) {
        const names = [one.currency, one.symbol, one.currencySymbol, one.type];
        for await (const page of readRatesPages(client, one, query)) yield rowsOf(names, page);
      }
    },
    about: {
      dataset: 'rates',
      series: all.map(({ currency, points, firstMs, lastMs }) => ({
        currency,
        points,
        first: timeText(firstMs),
        last: timeText(lastMs),
      })),
    },
  };
}

function rowsOf(names: Rows['names'], page: ReadonlyArray<[EpochMs, ...string[]]>): Rows {
  return { names, points: page.map(([timeMs, ...values]) => ({ timeMs, values })) };
}

function totalOf(sizes: readonly ExportSize[], layout: Layout): Pick<ExportSource, 'points' | 'digits'> {
  const most = (place: number, of: keyof Digits, least: number) =>
    sizes.reduce((found, { digits }) => Math.max(found, digits[place]?.[of] ?? least), least);
  return {
    points: sizes.reduce((sum, { points }) => sum + points, 0),
    digits: layout.values.map((_, place) => ({
      beforePoint: most(place, 'beforePoint', 1),
      afterPoint: most(place, 'afterPoint', 0),
    })),
  };
}

function aboutSeries(
  dataset: SeriesKey['dataset'],
  all: readonly ExportedSeries[],
  sizes: readonly ExportSize[],
): ExportSource['about'] {
  const series = all.map((one, place) => ({
    ...Object.fromEntries(layouts[dataset].names.map((name, at) => [name, seriesNames(one.series)[at]])),
    range: rangeText(one.range),
    tracked: {
      from: timeText(one.tracked.startMs),
      to: one.tracked.endMs === null ? null : timeText(one.tracked.endMs),
    },
    points: sizes[place]?.points ?? 0,
    coverage: one.covered.map(rangeText),
    confirmedEmpty: one.confirmedEmpty.map(rangeText),
    beforeBeginning: one.beforeBeginning.map(rangeText),
    gaps: one.gaps.map((gap) => ({ ...rangeText(gap), reason: gap.reason })),
  }));
  return { dataset, series } as ExportSource['about'];
}

function rangeText({ startMs, endMs }: Range): { from: string; to: string } {
  return { from: timeText(startMs), to: timeText(endMs) };
}

function refusal(gaps: ReadonlyArray<ExportedSeries['gaps'][number] & { series: SeriesKey }>): TidemarkError {
  const named = gaps
    .slice(0, maxNamed)
    .map(
      ({ series, startMs, endMs, reason }) =>
        `${seriesName(series)} lacks ${formatTime(startMs)} to ${formatTime(endMs)} (${reason})`,
    );
  const rest = gaps.length - named.length;
  return new TidemarkError(
    'RANGE_HAS_GAPS',
    `nothing was exported: ${named.join('; ')}${rest > 0 ? `; and ${counted(rest, 'gap')} more` : ''}`,
  );
}
