/**
 * What the sidecar of a file states of each series, checked: ranges of whole periods, each within the one around it.
 */

import { type EpochMs, type Interval, isOnGrid } from '../contract/intervals.ts';
import { type SeriesKey, seriesName } from '../contract/series.ts';
import { TidemarkError } from '../errors.ts';
import type { Sidecar } from '../files/sidecar.ts';
import { normalize, type Range, subtract } from '../planning/ranges.ts';
import type { Stated } from './import-series.ts';

export interface StatedSeries {
  readonly series: SeriesKey;
  readonly stated: Stated;
}

/**
 * @param follow whether what was tracked into the future is to be again.
 * @throws TidemarkError FILE_NOT_USABLE
 */
export function statedSeries(sidecar: Sidecar, path: string, follow: boolean): StatedSeries[] {
  if (sidecar.dataset === 'rates') return [];
  return sidecar.series.map((entry) => {
    const series: SeriesKey =
      'asset' in entry
        ? { dataset: 'asset_history', assetId: entry.asset, interval: entry.interval }
        : {
            dataset: 'candles',
            exchange: entry.exchange,
            baseId: entry.base,
            quoteId: entry.quote,
            interval: entry.interval,
          };
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
      stated: { range: entry.range, covered, confirmedEmpty, beforeBeginning, trackToMs },
    };
  });
}

function areWhole(ranges: readonly Range[], interval: Interval): boolean {
  const isWhole = (timeMs: EpochMs) => isOnGrid(timeMs, interval);
  return ranges.every(({ startMs, endMs }) => isWhole(startMs) && isWhole(endMs));
}
