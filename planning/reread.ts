/**
 * The trailing range, read again on a schedule: a source changes what it gave before, and most of all what is new.
 *
 * Rounds follow one another on a grid of `everyMs`. In each, the days before its start are read once: the range stands
 * still within a round, so it is cut into the same windows however often it is planned, and what is left of a round is
 * its range minus what it has read.
 */

import { type EpochMs, gridOriginMs } from '../contract/intervals.ts';
import type { SeriesKey } from '../contract/series.ts';
import { cut, type Range, subtract } from './ranges.ts';
import type { Lane, Window } from './windows.ts';

export interface RereadSettings {
  /** Closed periods before the newest that each refresh reads again. */
  readonly periods: number;
  /** Length of the trailing range, milliseconds; 0: it is not read again. */
  readonly rangeMs: number;
  /** Length of a round. */
  readonly everyMs: number;
}

/** A series and what of its trailing range this round has not read yet. */
export interface RereadDue {
  readonly seriesId: number;
  readonly series: SeriesKey;
  /** Sorted and disjoint. */
  readonly ranges: readonly Range[];
}

/** Start of the round that `nowMs` lies in. With the default length they are the days of UTC. */
export function roundStart(nowMs: EpochMs, everyMs: number): EpochMs {
  return gridOriginMs + Math.floor((nowMs - gridOriginMs) / everyMs) * everyMs;
}

/**
 * The windows that read the trailing ranges again, the first of each series before the second of any, at most `most`.
 *
 * @param claimed windows in the queue, by series: what one of them reads again already is left out.
 */
export function planRereads(input: {
  readonly due: readonly RereadDue[];
  readonly claimed: ReadonlyMap<number, ReadonlyArray<Range & { readonly lane?: Lane }>>;
  readonly longestRangeMs: (series: SeriesKey) => number;
  readonly roundMs: EpochMs;
  readonly most: number;
}): Window[] {
  let round = input.due.map(({ seriesId, series, ranges }) => {
    const claimed = (input.claimed.get(seriesId) ?? []).filter(({ lane }) => lane === 'reread');
    return { seriesId, series, windows: cutAll(subtract(ranges, claimed), input.longestRangeMs(series)) };
  });
  const taken: Window[] = [];
  while (round.length > 0 && taken.length < input.most) {
    const next: typeof round = [];
    for (const entry of round) {
      if (taken.length >= input.most) break;
      const window = entry.windows.next();
      if (window.done) continue;
      const { seriesId, series } = entry;
      taken.push(
        Object.freeze({ seriesId, series, ...window.value, lane: 'reread', roundMs: input.roundMs }),
      );
      next.push(entry);
    }
    round = next;
  }
  return taken;
}

function* cutAll(ranges: readonly Range[], spanMs: number): Generator<Range> {
  for (const range of ranges) yield* cut(range, spanMs);
}
