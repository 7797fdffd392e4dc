/** Validates rows and the sidecar of an imported file. Rows are checked by the code that checks answers. */

import { TidemarkError } from '../errors.ts';
import { type FileRow, type Layout, layouts, type Names } from '../files/layout.ts';
import type { Sidecar } from '../files/sidecar.ts';
import { datasets } from '../model/datasets/index.ts';
import { type EpochMs, type Interval, isOnGrid } from '../model/intervals.ts';
import { holds, normalize, type Range, subtract } from '../model/ranges.ts';
import { keyNames, type SeriesKey, seriesName, seriesOfKey, seriesProblem } from '../model/series.ts';
import { wrongInterval } from '../model/time-text.ts';
import type { RejectedRow } from '../planning/answer.ts';
import { pointReader, readRate } from '../sources/rows.ts';
import { id, type Rate } from '../v2/resources.ts';
import type { FileCoverage } from './queries/import-coverage.ts';

/** The series of a row, or the reason why its names are invalid. */
export function seriesOfRow(layout: Layout, names: Names): SeriesKey | string {
  const wrong = names.findIndex((name) => !id.safeParse(name).success);
  if (wrong !== -1) return `${layout.names[wrong]}: not an id`;
  const { dataset } = layout;
  if (dataset === 'rates') return 'a rate has no series';
  const series = seriesOfKey(
    dataset,
    names.map((name) => name ?? ''),
  );
  if (series === null) return `interval: ${wrongInterval(names.at(-1) ?? '', datasets[dataset])}`;
  return seriesProblem(series) ?? series;
}

export function pointOf(row: FileRow, { dataset, interval }: SeriesKey) {
  const { columns, timeField } = datasets[dataset];
  const values = columns.map(({ json }, column) => [json, row.values[column]]);
  const reader = pointReader(dataset, interval);
  return read({ ...Object.fromEntries(values), [timeField]: row.time }, (value) =>
    typeof row.time === 'number' ? reader(value) : noTime(row.time),
  );
}

const noTime = (time: string | null) =>
  time === null ? 'time: there is none' : `time: ${JSON.stringify(time)} is no time such as 2024-01-31T06:00:00Z`;

export interface TimedRate {
  readonly timeMs: EpochMs;
  readonly rate: Rate;
}

export function rateOf(row: FileRow) {
  const [name, symbol, currencySymbol, type] = row.names;
  const value = { id: name, symbol, currencySymbol, type, rateUsd: row.values[0], time: row.time };
  return read<TimedRate>(value, (candidate) => {
    const rate = readRate(candidate);
    if (typeof rate === 'string') return rate;
    if (typeof row.time !== 'number') return noTime(row.time);
    return Number.isSafeInteger(row.time) && row.time >= 0 ? { timeMs: row.time, rate } : 'time: not a time';
  });
}

interface ReadResult<Row> {
  /** Null: it is refused. */
  readonly row: Row | null;
  readonly refusal: RejectedRow | null;
  readonly raw: () => string;
}

function read<Row extends object>(value: object, reader: (value: unknown) => Row | string): ReadResult<Row> {
  const row = reader(value);
  const raw = () => JSON.stringify(value);
  return typeof row === 'string'
    ? { row: null, refusal: { raw: raw(), reason: row }, raw }
    : { row, refusal: null, raw };
}

/** The statement of a sidecar about a series. */
export interface Stated extends FileCoverage {
  readonly range: Range;
  /** Rows of the file. */
  readonly points: number;
  /** Null: into the future. */
  readonly trackToMs: EpochMs | null;
}

export interface StatedSeries {
  readonly series: SeriesKey;
  /** The name columns of its rows. */
  readonly names: Names;
  readonly stated: Stated;
}

/**
 * Why the next row of a series cannot have this time; null: it can.
 *
 * @param at.lastMs time of the row before it. @param stated null: there is no sidecar.
 */
export function timeRejection(
  time: FileRow['time'],
  at: { readonly lastMs: EpochMs; readonly nowMs: EpochMs },
  stated: Stated | null,
): string | null {
  if (typeof time !== 'number') return 'time: not a time';
  if (!Number.isSafeInteger(time) || time < 0) return 'time: not a time';
  if (time <= at.lastMs) return 'time: not after the row before it';
  if (time > at.nowMs) return 'time: lies in the future';
  if (stated === null) return null;
  if (!holds(stated.covered, time)) return 'the sidecar states no coverage there';
  if (holds(stated.confirmedEmpty, time)) return 'the sidecar states that there is nothing';
  return null;
}

/**
 * @param follow whether to track open-ended again what was tracked open-ended.
 * @throws TidemarkError FILE_NOT_USABLE
 */
export function statedSeries(sidecar: Sidecar, path: string, follow: boolean): StatedSeries[] {
  if (sidecar.dataset === 'rates') return [];
  const known = new Set<string>();
  const remedy = 'restore the sidecar as `export` wrote it, or import with --points-only';
  return sidecar.series.map((entry) => {
    const stated: Readonly<Record<string, unknown>> = entry;
    const names = keyNames[datasets[sidecar.dataset].of].map((name) => String(stated[name]));
    const series = seriesOfRow(layouts[sidecar.dataset], names);
    if (typeof series === 'string') {
      throw new TidemarkError('FILE_NOT_USABLE', `${path} states an invalid series: ${series}`, { remedy });
    }
    const key = JSON.stringify(names);
    if (known.has(key)) {
      throw new TidemarkError('FILE_NOT_USABLE', `${path} states ${seriesName(series)} twice`, { remedy });
    }
    known.add(key);
    const covered = normalize(entry.coverage);
    const confirmedEmpty = normalize(entry.confirmedEmpty);
    const beforeBeginning = normalize(entry.beforeBeginning);
    const isNested =
      areWhole([entry.range, ...covered, ...confirmedEmpty, ...beforeBeginning], series.interval) &&
      subtract(covered, [entry.range]).length === 0 &&
      subtract(confirmedEmpty, covered).length === 0 &&
      subtract(beforeBeginning, confirmedEmpty).length === 0;
    if (!isNested) {
      throw new TidemarkError(
        'FILE_NOT_USABLE',
        `${path}: its ranges of ${seriesName(series)} are not whole periods, or not nested`,
        { remedy },
      );
    }
    const trackToMs = follow && entry.tracked.to === null ? null : entry.range.endMs;
    return {
      series,
      names,
      stated: { range: entry.range, points: entry.points, covered, confirmedEmpty, beforeBeginning, trackToMs },
    };
  });
}

function areWhole(ranges: readonly Range[], interval: Interval): boolean {
  const isWhole = (timeMs: EpochMs) => isOnGrid(timeMs, interval);
  return ranges.every(({ startMs, endMs }) => isWhole(startMs) && isWhole(endMs));
}
