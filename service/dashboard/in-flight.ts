/** Windows of the queue as columns of a band, as store/dashboard/bands.ts gives the stored states. */

import type { EpochMs } from '../../contract/intervals.ts';

interface Range {
  readonly startMs: EpochMs;
  readonly endMs: EpochMs;
}

/** Flat pairs, ascending and disjoint: first, and one past the last. */
export function inFlightPairs(windows: readonly Range[], band: Range, columns: number): number[] {
  const stepMs = (band.endMs - band.startMs) / columns;
  const pairs: number[] = [];
  const sorted = windows
    .filter(({ startMs, endMs }) => startMs < band.endMs && endMs > band.startMs)
    .sort((one, other) => one.startMs - other.startMs);
  for (const { startMs, endMs } of sorted) {
    const first = Math.max(0, Math.floor((startMs - band.startMs) / stepMs));
    const past = Math.min(columns, Math.max(first + 1, Math.ceil((endMs - band.startMs) / stepMs)));
    const last = pairs.at(-1);
    if (last !== undefined && last >= first) pairs[pairs.length - 1] = Math.max(last, past);
    else pairs.push(first, past);
  }
  return pairs;
}
