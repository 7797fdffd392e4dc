/** Coverage by calendar month, UTC. */

import type { EpochMs, Range } from './intervals.ts';
import { monthAt } from './months.ts';

/** A range of so many series. */
interface CountedRange extends Range {
  readonly series: number;
}

export interface CalendarRanges {
  /** Tracked, up to the last closed period. */
  readonly wanted: readonly CountedRange[];
  readonly missing: readonly CountedRange[];
  /** Parts of what is missing. */
  readonly failed: readonly CountedRange[];
  readonly awaiting: readonly CountedRange[];
  /** Covered, and without a point for far longer than usual. */
  readonly silent: readonly CountedRange[];
}

export interface CalendarMonth {
  readonly startMs: EpochMs;
  /** Of all series together. */
  readonly wantedMs: number;
  readonly coveredMs: number;
  /** Whether a part of it failed, or awaits a second answer. */
  readonly failed: boolean;
  readonly awaiting: boolean;
  /** Whether a part of it is covered and without a point for far longer than usual. */
  readonly silent: boolean;
}

/**
 * @returns each month from the first wanted one to the last, ascending. The work grows with the ranges, not with their
 * months.
 */
export function coverageByMonth({ wanted, missing, failed, awaiting, silent }: CalendarRanges): CalendarMonth[] {
  const starts = monthStarts(wanted);
  const lengths = [wanted, missing, failed, awaiting, silent].map((ranges) => lengthsIn(starts, ranges));
  return starts.slice(0, -1).map((startMs, place) => {
    const [wantedMs = 0, missingMs = 0, failedMs = 0, awaitingMs = 0, silentMs = 0] = lengths.map(
      (of) => of[place] ?? 0,
    );
    return {
      startMs,
      wantedMs,
      coveredMs: wantedMs - missingMs,
      failed: failedMs > 0,
      awaiting: awaitingMs > 0,
      silent: silentMs > 0,
    };
  });
}

/** The start of each month that the ranges touch or that is between them, and of the one after. */
function monthStarts(ranges: readonly Range[]): EpochMs[] {
  if (ranges.length === 0) return [];
  const firstMs = ranges.reduce((least, { startMs }) => Math.min(least, startMs), Number.POSITIVE_INFINITY);
  const lastMs = ranges.reduce((most, { endMs }) => Math.max(most, endMs), Number.NEGATIVE_INFINITY);
  const starts = [monthAt(firstMs).startMs];
  for (let { endMs } = monthAt(firstMs); ; { endMs } = monthAt(endMs)) {
    starts.push(endMs);
    if (endMs >= lastMs) return starts;
  }
}

/**
 * Total length of the ranges in each month. The months between the first and the last one of a range are added as a
 * difference at either end, and summed up once.
 */
function lengthsIn(starts: readonly EpochMs[], ranges: readonly CountedRange[]): number[] {
  const places = new Map(starts.map((startMs, place) => [startMs, place]));
  const parts = new Array<number>(starts.length).fill(0);
  const whole = new Array<number>(starts.length).fill(0);
  const add = (into: number[], place: number, amount: number) => {
    into[place] = (into[place] ?? 0) + amount;
  };
  for (const { startMs, endMs, series } of ranges) {
    const [first, last] = [monthAt(startMs), monthAt(endMs - 1)];
    const [from, to] = [places.get(first.startMs), places.get(last.startMs)];
    if (from === undefined || to === undefined) continue;
    if (from === to) add(parts, from, (endMs - startMs) * series);
    else {
      add(parts, from, (first.endMs - startMs) * series);
      add(parts, to, (endMs - last.startMs) * series);
      add(whole, from + 1, series);
      add(whole, to, -series);
    }
  }
  let inAll = 0;
  return parts.map((lengthMs, place) => {
    inAll += whole[place] ?? 0;
    const [startMs = 0, endMs = startMs] = [starts[place], starts[place + 1]];
    return lengthMs + inAll * (endMs - startMs);
  });
}
