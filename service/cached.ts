import type { EpochMs } from '../model/intervals.ts';

/** Caches the value for `ms`. Whoever asks while it is read gets the same answer; a failure is not kept. */
export function cachedFor<Value>(
  ms: number,
  read: (nowMs: EpochMs) => Promise<Value>,
): (nowMs: EpochMs) => Promise<Value> {
  let kept: { readonly atMs: EpochMs; readonly value: Promise<Value> } | null = null;
  return (nowMs) => {
    if (kept !== null && Math.abs(nowMs - kept.atMs) < ms) return kept.value;
    const mine = { atMs: nowMs, value: read(nowMs) };
    kept = mine;
    mine.value.catch(() => {
      if (kept === mine) kept = null;
    });
    return mine.value;
  };
}
