/**
 * Reads an expensive value for any number of callers, at most once in `everyMs`.
 *
 *   fresh      The last value is younger than `everyMs` and is returned.
 *   reading    A reading is pending; callers wait for it up to `waitMs`.
 *   late       The reading failed or takes longer, and callers no longer wait. They get the last value until it is
 *              `oldestMs` old, and then null: an unknown state must not look like an earlier one.
 *   abandoned  The reading took `oldestMs`. Its result is ignored, and the next call starts another.
 */

import { type Clock, settledWithin } from '../clock.ts';
import type { EpochMs } from '../model/intervals.ts';

interface ReadingTimes {
  readonly everyMs: number;
  readonly waitMs: number;
  readonly oldestMs: number;
}

interface Reading {
  readonly atMs: EpochMs;
  /** A caller's wait has timed out. */
  isLate: boolean;
  ended: Promise<void>;
}

/** @param onError receives the error of each failed or abandoned reading. */
export function readAtMostEvery<Value>(
  read: () => Promise<Value>,
  times: ReadingTimes,
  { clock, onError }: { readonly clock: Clock; readonly onError: (error: unknown) => void },
): () => Promise<{ readonly value: Value; readonly atMs: EpochMs } | null> {
  let latest: { readonly value: Value; readonly atMs: EpochMs } | null = null;
  let reading: Reading | null = null;
  let triedMs = Number.NEGATIVE_INFINITY;

  async function readInto(mine: Reading): Promise<void> {
    try {
      const value = await read();
      if (reading === mine) latest = { value, atMs: mine.atMs };
    } catch (error) {
      if (reading === mine) onError(error);
    }
    if (reading === mine) reading = null;
  }

  return async () => {
    if (reading !== null && clock.now() - reading.atMs >= times.oldestMs) {
      reading = null;
      onError(new Error('no answer'));
    }
    if (reading === null && clock.now() - triedMs >= times.everyMs) {
      triedMs = clock.now();
      reading = { atMs: triedMs, isLate: false, ended: Promise.resolve() };
      reading.ended = readInto(reading);
    }
    const pending = reading;
    if (pending !== null && !pending.isLate) {
      pending.isLate = (await settledWithin(clock, times.waitMs, pending.ended)) === 'late';
    }
    return latest !== null && clock.now() - latest.atMs < times.oldestMs ? latest : null;
  };
}
