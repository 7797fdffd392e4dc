/**
 * Reads something that costs others work, for any number of askers, at most every so often.
 *
 *   fresh     what was read is younger than `everyMs`: it is given again
 *   reading   one reading is under way; who asks waits for it, but no longer than `patienceMs`
 *   late      it takes longer, or it failed: what was read before is given until it is `oldestMs` old, and then nothing.
 *             What is not known must not look like what was true once.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { EpochMs } from '../contract/intervals.ts';

export interface ReadingTimes {
  readonly everyMs: number;
  readonly patienceMs: number;
  readonly oldestMs: number;
}

/** @param onError is told of each reading that failed. */
export function readingAtMostEvery<Value>(
  read: () => Promise<Value>,
  times: ReadingTimes,
  { now, onError }: { readonly now: () => EpochMs; readonly onError: (error: unknown) => void },
): () => Promise<{ readonly value: Value; readonly atMs: EpochMs } | null> {
  let latest: { readonly value: Value; readonly atMs: EpochMs } | null = null;
  let reading: Promise<void> | null = null;
  let triedMs = Number.NEGATIVE_INFINITY;

  async function readOnce(): Promise<void> {
    const atMs = now();
    triedMs = atMs;
    try {
      latest = { value: await read(), atMs };
    } catch (error) {
      onError(error);
    }
  }

  return async () => {
    if (reading === null && now() - triedMs >= times.everyMs) {
      reading = readOnce().finally(() => {
        reading = null;
      });
    }
    if (reading !== null) {
      const patience = new AbortController();
      await Promise.race([reading, delay(times.patienceMs, undefined, patience).catch(() => {})]);
      patience.abort();
    }
    return latest !== null && now() - latest.atMs < times.oldestMs ? latest : null;
  };
}
