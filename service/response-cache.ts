/**
 * Caches responses for a moment, and shares those that are still being prepared: simultaneous identical requests run
 * one statement. Many clients request the same few resources, and the stored data changes minutes apart.
 */

import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { EpochMs } from '../model/intervals.ts';
import type { PreparedAnswer } from './response.ts';

export interface CacheSettings {
  /** Largest age of a response, counted from the start of its statement; 0: no cache. */
  readonly forMs: number;
  /** Of all cached responses together. */
  readonly maxBytes: number;
}

/** @returns the cached response of `key`, or the one that `prepare` makes. Failures are not cached. */
export function responseCache({ forMs, maxBytes }: CacheSettings, clock: Pick<Clock, 'now'>) {
  type Prepare = () => Promise<PreparedAnswer>;
  if (forMs === 0) return (_key: string, _nowMs: EpochMs, prepare: Prepare) => prepare();
  const cached = new LRUCache<string, Promise<PreparedAnswer>>({
    maxSize: maxBytes,
    ttl: forMs,
    ttlResolution: 0,
    ttlAutopurge: true,
    perf: clock,
  });
  return (key: string, nowMs: EpochMs, prepare: Prepare) => {
    const known = cached.get(key);
    if (known !== undefined) return known;
    const answer = prepare();
    cached.set(key, answer, { size: key.length, start: nowMs });
    const isCached = () => cached.peek(key) === answer;
    answer.then(
      (prepared) => {
        // The size is known only now. `set` ignores the new size of an unchanged value, so it gets a new promise.
        const size = key.length + prepared.rows.length;
        if (isCached()) cached.set(key, Promise.resolve(prepared), { size, start: nowMs });
      },
      () => isCached() && cached.delete(key),
    );
    return answer;
  };
}
