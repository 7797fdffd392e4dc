/**
 * Reads something that costs others work, for any number of askers, at most every so often.
 *
 *   fresh     what was read is younger than `everyMs`: it is given again
 *   reading   one reading is under way; who asks waits for it, but no longer than `patienceMs`
 *   late      it takes longer, and nobody waits for it any more, or it failed: what was read before is given until it is
 *             `oldestMs` old, and then nothing. What is not known must not look like what was true once.
 *   given up  it takes `oldestMs`: it has failed, whatever it may still bring, and the next one who asks begins another.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { EpochMs } from '../contract/intervals.ts';

export interface ReadingTimes {
  readonly everyMs: number;
  readonly patienceMs: number;
  readonly oldestMs: number;
}

interface Reading {
  readonly atMs: EpochMs;
  /** Somebody has waited for it in vain. */
  isLate: boolean;
  ended: Promise<void>;
}

/** @param onError is told of each reading that failed, or was given up. */
export function readingAtMostEvery<Value>(
  read: () => Promise<Value>,
  times: ReadingTimes,
  { now, onError }: { readonly now: () => EpochMs; readonly onError: (error: unknown) => void },
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
    if (reading !== null && now() - reading.atMs >= times.oldestMs) {
      reading = null;
      onError(new Error('no answer'));
    }
    if (reading === null && now() - triedMs >= times.everyMs) {
      triedMs = now();
      reading = { atMs: triedMs, isLate: false, ended: Promise.resolve() };
      reading.ended = readInto(reading);
    }
    const waited = reading;
    if (waited !== null && !waited.isLate) {
      const patience = new AbortController();
      const tooLong = delay(times.patienceMs, true, patience).catch(() => false);
      waited.isLate = await Promise.race([waited.ended.then(() => false), tooLong]);
      patience.abort();
    }
    return latest !== null && now() - latest.atMs < times.oldestMs ? latest : null;
  };
}
