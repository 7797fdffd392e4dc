/** What an export carries: pages of points, and what is to be said about them. */

import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { type Layout, layouts, type Rows, timeText } from '../files/layout.ts';
import type { Digits } from '../files/parquet-schema.ts';
import type { SidecarText } from '../files/sidecar.ts';
import type { Range } from '../planning/ranges.ts';
import { type ExportSize, exportedPoints, namesOf, sizeOf } from '../store/export/points.ts';
import { currenciesToExport, exportedRates, type RatesQuery, sizeOfRates } from '../store/export/rates.ts';
import { type ExportedSeries, type ExportQuery, seriesToExport } from '../store/export/series.ts';
import { counted, moment } from './wording.ts';

export interface Cargo {
  readonly layout: Layout;
  /** When it was as it is here. */
  readonly atMs: EpochMs;
  readonly points: number;
  readonly series: number;
  readonly gaps: number;
  /** Of each column of values. */
  readonly digits: readonly Digits[];
  rows(): AsyncGenerator<Rows>;
  /** What the sidecar says of the series. */
  readonly about: Pick<SidecarText, 'dataset' | 'series'>;
}

/** The gaps that the one line of a refusal names; the others it counts. */
const mostNamed = 5;

/** @throws TidemarkError RANGE_HAS_GAPS, UNKNOWN_SERIES, BAD_ARGUMENT */
export async function seriesCargo(
  client: pg.PoolClient,
  query: ExportQuery & { readonly allowGaps: boolean },
): Promise<Cargo> {
  const all = await seriesToExport(client, query);
  const gaps = all.flatMap((one) => one.gaps.map((gap) => ({ ...gap, series: one.series })));
  if (gaps.length > 0 && !query.allowGaps) throw refusal(gaps);
  const sizes: ExportSize[] = [];
  for (const one of all) sizes.push(await sizeOf(client, one));
  const dataset = query.series[0]?.dataset ?? 'candles';
  return {
    layout: layouts[dataset],
    atMs: query.nowMs,
    ...totalOf(sizes, layouts[dataset]),
    series: all.length,
    gaps: gaps.length,
    async *rows() {
      for (const one of all) {
        const names = namesOf(one.series);
        for await (const page of exportedPoints(client, one)) yield rowsOf(names, page);
      }
    },
    about: aboutSeries(dataset, all, sizes),
  };
}

/** @throws TidemarkError UNKNOWN_SERIES */
export async function rateCargo(
  client: pg.PoolClient,
  query: RatesQuery & { readonly nowMs: EpochMs },
): Promise<Cargo> {
  const all = await currenciesToExport(client, query);
  const sizes: ExportSize[] = [];
  for (const one of all) sizes.push(await sizeOfRates(client, one, query));
  return {
    layout: layouts.rates,
    atMs: query.nowMs,
    ...totalOf(sizes, layouts.rates),
    series: all.length,
    gaps: 0,
    async *rows() {
      for (const one of all) {
        const names = [one.currency, one.symbol, one.currencySymbol, one.type];
        for await (const page of exportedRates(client, one, query)) yield rowsOf(names, page);
      }
    },
    about: {
      dataset: 'rates',
      series: all.map(({ currency, points, firstMs, lastMs }) => ({
        ...{ currency, points, first: timeText(firstMs), last: timeText(lastMs) },
      })),
    },
  };
}

function rowsOf(names: Rows['names'], page: ReadonlyArray<[EpochMs, ...string[]]>): Rows {
  return { names, points: page.map(([timeMs, ...values]) => ({ timeMs, values })) };
}

function totalOf(sizes: readonly ExportSize[], layout: Layout): Pick<Cargo, 'points' | 'digits'> {
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
): Cargo['about'] {
  const series = all.map((one, place) => ({
    ...Object.fromEntries(layouts[dataset].names.map((name, at) => [name, namesOf(one.series)[at]])),
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
  return { dataset, series } as Cargo['about'];
}

function rangeText({ startMs, endMs }: Range): { from: string; to: string } {
  return { from: timeText(startMs), to: timeText(endMs) };
}

function refusal(gaps: ReadonlyArray<ExportedSeries['gaps'][number] & { series: SeriesKey }>): TidemarkError {
  const named = gaps
    .slice(0, mostNamed)
    .map(
      ({ series, startMs, endMs, reason }) =>
        `${seriesName(series)} lacks ${moment(startMs)} to ${moment(endMs)} (${reason})`,
    );
  const rest = gaps.length - named.length;
  return new TidemarkError(
    'RANGE_HAS_GAPS',
    `nothing was exported: ${named.join('; ')}${rest > 0 ? `; and ${counted(rest, 'gap')} more` : ''}`,
  );
}
