/**
 * What the sidecar of a file states of each series, checked: ranges of whole periods, each within the one around it.
 */

import { type EpochMs, type Interval, isOnGrid } from '../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import { type FileRow, layouts, type Names } from '../files/layout.ts';
import type { Sidecar } from '../files/sidecar.ts';
import { holds } from '../planning/file-coverage.ts';
import { normalize, type Range, subtract } from '../planning/ranges.ts';
import type { FileCoverage } from '../store/import/coverage.ts';
import { seriesNamed } from './import-rows.ts';

/** What a sidecar states of a series. */
export interface Stated extends FileCoverage {
  readonly range: Range;
  /** Rows of the file. */
  readonly points: number;
  /** Null: into the future. */
  readonly trackToMs: EpochMs | null;
}

export interface StatedSeries {
  readonly series: SeriesKey;
  /** As its rows have them. */
  readonly names: Names;
  readonly stated: Stated;
}

/**
 * Why a row of this time cannot be the next point of its series; null when it can.
 *
 * @param lastMs time of the row before it.
 * @param stated null where there is no sidecar.
 */
export function objectionTo(time: FileRow['time'], lastMs: EpochMs, stated: Stated | null): string | null {
  if (typeof time !== 'number') return 'time: not a time';
  if (time <= lastMs) return 'time: not after the row before it';
  if (time > Date.now()) return 'time: lies in the future';
  if (stated === null) return null;
  if (!holds(stated.covered, time)) return 'the sidecar states no coverage there';
  if (holds(stated.confirmedEmpty, time)) return 'the sidecar states that there is nothing';
  return null;
}

/**
 * @param follow whether what was tracked into the future is to be again.
 * @throws TidemarkError FILE_NOT_USABLE
 */
export function statedSeries(sidecar: Sidecar, path: string, follow: boolean): StatedSeries[] {
  if (sidecar.dataset === 'rates') return [];
  const known = new Set<string>();
  return sidecar.series.map((entry) => {
    const names =
      'asset' in entry
        ? [entry.asset, entry.interval]
        : [entry.exchange, entry.base, entry.quote, entry.interval];
    const series = seriesNamed(layouts[sidecar.dataset], names);
    if (typeof series === 'string') {
      throw new TidemarkError('FILE_NOT_USABLE', `${path} states a series that is none: ${series}`);
    }
    const key = JSON.stringify(names);
    if (known.has(key)) {
      throw new TidemarkError('FILE_NOT_USABLE', `${path} states ${seriesName(series)} twice`);
    }
    known.add(key);
    const covered = normalize(entry.coverage);
    const confirmedEmpty = normalize(entry.confirmedEmpty);
    const beforeBeginning = normalize(entry.beforeBeginning);
    const isNested =
      areWhole([entry.range, ...covered, ...confirmedEmpty, ...beforeBeginning], entry.interval) &&
      subtract(covered, [entry.range]).length === 0 &&
      subtract(confirmedEmpty, covered).length === 0 &&
      subtract(beforeBeginning, confirmedEmpty).length === 0;
    if (!isNested) {
      throw new TidemarkError(
        'FILE_NOT_USABLE',
        `${path}: its ranges of ${seriesName(series)} are not of whole periods, or not within one another`,
      );
    }
    const trackToMs = follow && entry.tracked.to === null ? null : entry.range.endMs;
    return {
      series,
      names,
      stated: {
        range: entry.range,
        points: entry.points,
        covered,
        confirmedEmpty,
        beforeBeginning,
        trackToMs,
      },
    };
  });
}

function areWhole(ranges: readonly Range[], interval: Interval): boolean {
  const isWhole = (timeMs: EpochMs) => isOnGrid(timeMs, interval);
  return ranges.every(({ startMs, endMs }) => isWhole(startMs) && isWhole(endMs));
}
