/** The interface's request limits, held over a rolling minute, for each key and for each address without one. */

import type { EpochMs } from '../contract/intervals.ts';
import { requestsPerMinute } from '../contract/limits.ts';
import { RollingMinute } from './rolling-minute.ts';

export class RateLimit {
  readonly #perMinute: number | null | undefined;
  readonly #callers = new Map<string, RollingMinute>();

  /** @param perMinute the same for all; null for no limit; undefined for the interface's, with and without a key. */
  constructor(perMinute: number | null | undefined) {
    this.#perMinute = perMinute;
  }

  /** The limit of a caller, requests a minute; null when there is none. */
  limitOf(key: string | null): number | null {
    if (this.#perMinute !== undefined) return this.#perMinute;
    return key === null ? requestsPerMinute.withoutKey : requestsPerMinute.withKey;
  }

  /** Admits a request, and returns null; or says when the next may come. Refused requests do not count. */
  admit(key: string | null, address: string, nowMs: EpochMs): EpochMs | null {
    const limit = this.limitOf(key);
    if (limit === null) return null;
    const caller = key === null ? `address ${address}` : `key ${key}`;
    let minute = this.#callers.get(caller);
    if (minute === undefined) {
      minute = new RollingMinute();
      this.#callers.set(caller, minute);
    }
    if (minute.count(nowMs) >= limit) return minute.freeAt(nowMs);
    minute.add(nowMs);
    return null;
  }
}
