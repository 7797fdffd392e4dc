/** The content of an export: points as COPY gives them, and its description. */

import type pg from 'pg';
import { TidemarkError } from '../errors.ts';
import type { Digits } from '../files/decimals/decimal-type.ts';
import { type Layout, layouts, type Names, type RowWriter, rangeText, timeText } from '../files/layout.ts';
import type { SidecarText } from '../files/sidecar.ts';
import { counted, formatTime } from '../model/format.ts';
import type { EpochMs } from '../model/intervals.ts';
import { keyOf, type SeriesKey, seriesName } from '../model/series.ts';
import {
  copyPoints,
  type ExportSize,
  measureExport,
  type PointSelection,
  type RatesQuery,
  readExportCurrencies,
  selectPoints,
  selectRates,
} from './queries/export-points.ts';
import { type ExportedSeries, type ExportQuery, readExportSeries } from './queries/export-series.ts';

export interface ExportSource {
  readonly layout: Layout;
  /** The time of the snapshot. */
  readonly atMs: EpochMs;
  readonly points: number;
  readonly series: number;
  readonly gaps: number;
  /** The earliest end of the exported ranges, and the latest; null: the points have no coverage. */
  readonly untilMs: EpochMs | null;
  readonly lastUntilMs: EpochMs | null;
  /** Per value column, as far as they are needed. */
  readonly digits: readonly Digits[];
  /** Each to be read to its end before the next one. */
  readonly parts: ReadonlyArray<{ readonly names: Names; copy(format: RowWriter['takes']): AsyncIterable<Buffer> }>;
  /** For the sidecar. */
  readonly about: Pick<SidecarText, 'dataset' | 'series'>;
}

/** Gaps named in the error; the others are counted. */
const maxNamed = 5;

/** @throws TidemarkError RANGE_HAS_GAPS, UNKNOWN_SERIES, BAD_ARGUMENT */
export async function seriesExportSource(
  client: pg.PoolClient,
  query: ExportQuery & { readonly allowGaps: boolean; readonly needsDigits: boolean },
): Promise<ExportSource> {
  const dataset = query.series[0]?.dataset;
  if (dataset === undefined) throw new RangeError('no series');
  const all = await readExportSeries(client, query);
  const gaps = all.flatMap((one) => one.gaps.map((gap) => ({ ...gap, series: one.series })));
  if (gaps.length > 0 && !query.allowGaps) throw refusal(gaps);
  const { sizes, ...content } = await contentOf(
    client,
    layouts[dataset],
    all.map((one) => ({ names: keyOf(one.series), selection: selectPoints(one) })),
    query.needsDigits,
  );
  return {
    ...content,
    atMs: query.nowMs,
    gaps: gaps.length,
    untilMs: Math.min(...all.map(({ range }) => range.endMs)),
    lastUntilMs: Math.max(...all.map(({ range }) => range.endMs)),
    about: aboutSeries(dataset, all, sizes),
  };
}

/** @throws TidemarkError UNKNOWN_SERIES */
export async function rateExportSource(
  client: pg.PoolClient,
  query: RatesQuery & { readonly nowMs: EpochMs; readonly needsDigits: boolean },
): Promise<ExportSource> {
  const all = await readExportCurrencies(client, query);
  const { sizes: _, ...content } = await contentOf(
    client,
    layouts.rates,
    all.map((one) => ({
      names: [one.currency, one.symbol, one.currencySymbol, one.type],
      selection: selectRates(one, query),
    })),
    query.needsDigits,
  );
  return {
    ...content,
    atMs: query.nowMs,
    gaps: 0,
    untilMs: null,
    lastUntilMs: null,
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

/** The points of several selections, with their number and their digits. */
async function contentOf(
  client: pg.PoolClient,
  layout: Layout,
  parts: ReadonlyArray<{ readonly names: Names; readonly selection: PointSelection }>,
  needsDigits: boolean,
) {
  const sizes: ExportSize[] = [];
  for (const { selection } of parts) sizes.push(await measureExport(client, selection, needsDigits));
  const most = (place: number, of: keyof Digits, least: number) =>
    sizes.reduce((found, { digits }) => Math.max(found, digits[place]?.[of] ?? least), least);
  return {
    layout,
    sizes,
    series: parts.length,
    points: sizes.reduce((sum, { points }) => sum + points, 0),
    digits: layout.values.map((_, place) => ({
      beforePoint: most(place, 'beforePoint', 1),
      afterPoint: most(place, 'afterPoint', 0),
    })),
    parts: parts.map(({ names, selection }) => ({
      names,
      copy: (format: RowWriter['takes']) => copyPoints(client, selection, format),
    })),
  };
}

function aboutSeries(
  dataset: SeriesKey['dataset'],
  all: readonly ExportedSeries[],
  sizes: readonly ExportSize[],
): ExportSource['about'] {
  const series = all.map((one, place) => ({
    ...Object.fromEntries(layouts[dataset].names.map((name, at) => [name, keyOf(one.series)[at]])),
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
