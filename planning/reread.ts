/**
 * Rereads of the recent range on a schedule, since sources change recent values.
 *
 * Rounds lie on a grid of `everyMs`. Each reads the days before its start once. The range is constant within a round,
 * so it is cut into the same windows at every pass; the rest of a round is its range minus the ranges read.
 */

import { type EpochMs, gridOriginMs } from '../model/intervals.ts';
import type { WindowLane } from '../model/lanes.ts';
import { cut, type Range, subtract } from '../model/ranges.ts';
import type { SeriesKey } from '../model/series.ts';
import { type Window, withWitnesses } from '../model/window.ts';
import { takeInTurn } from './plan.ts';

export interface RereadSettings {
  /** Closed periods that each refresh reads again. */
  readonly periods: number;
  /** Length of the recent range, milliseconds; 0: no rereads. */
  readonly rangeMs: number;
  /** Length of a round. */
  readonly everyMs: number;
}

/** A series and the part of its recent range that this round has not read. */
export interface RereadDue {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Sorted and disjoint. */
  readonly ranges: readonly Range[];
}

/** Start of the round that contains `nowMs`. With the default length rounds are UTC days. */
export function roundStart(nowMs: EpochMs, everyMs: number): EpochMs {
  return gridOriginMs + Math.floor((nowMs - gridOriginMs) / everyMs) * everyMs;
}

/**
 * The windows of the rereads, the first of each series before the second of any, at most `most`.
 *
 * @param claimed windows in the queue, by series. Their ranges are left out.
 */
export function planRereads(input: {
  /** The source that is asked. */
  readonly source: string;
  readonly due: readonly RereadDue[];
  readonly claimed: ReadonlyMap<number, ReadonlyArray<Range & { readonly lane?: WindowLane }>>;
  readonly longestRangeMs: (series: SeriesKey) => number;
  readonly roundMs: EpochMs;
  readonly most: number;
}): Window[] {
  const windows = input.due.map(({ seriesId, series, ranges }) => {
    const claimed = (input.claimed.get(seriesId) ?? []).filter(({ lane }) => lane === 'reread');
    return rereads({ seriesId, series, ranges: subtract(ranges, claimed) });
  });
  return takeInTurn(windows, input.most);

  function* rereads({ seriesId, series, ranges }: RereadDue): Generator<Window> {
    const spanMs = input.longestRangeMs(series);
    for (const range of ranges)
      for (const piece of cut(range, spanMs))
        yield {
          ...withWitnesses({ seriesId, series, source: input.source, ...piece }, spanMs),
          lane: 'reread',
          roundMs: input.roundMs,
        };
  }
}
