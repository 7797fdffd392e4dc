/** Rate limits of the simulated venues, for each address, and bans. */

import type { EpochMs } from '../../model/intervals.ts';
import { RollingMinute } from '../requests.ts';

/** A limit in the venue's unit: requests or weight. */
export interface VenueLimit {
  readonly amount: number;
  readonly periodMs: number;
  /**
   * `fixed`: counted by the clock's periods, including refused requests. `rolling`: in any such period. `bucket`: a
   * bucket of `burst` that refills with `amount` a period.
   */
  readonly kind: 'fixed' | 'rolling' | 'bucket';
  readonly burst?: number;
  /** An address is banned after this many refusals within a period, or at the first if it is 0. */
  readonly ban?: { readonly afterRefusals: number; readonly forMs: number };
}

export interface LimitRefusal {
  readonly isBan: boolean;
  readonly freeAtMs: EpochMs;
}

interface Counter {
  /** Counts a request, or returns when the next is allowed. */
  take(cost: number, nowMs: EpochMs): EpochMs | null;
  used(nowMs: EpochMs): number;
}

interface Caller {
  readonly counter: Counter;
  readonly refusals: RollingMinute;
  bannedUntilMs: EpochMs;
}

export class VenueLimits {
  readonly #limit: VenueLimit;
  readonly #callers = new Map<string, Caller>();

  constructor(limit: VenueLimit) {
    this.#limit = limit;
  }

  /** Admits a request and returns null, or refuses it. */
  admit(address: string, cost: number, nowMs: EpochMs): LimitRefusal | null {
    const caller = this.#callerOf(address);
    if (caller.bannedUntilMs > nowMs) return { isBan: true, freeAtMs: caller.bannedUntilMs };
    const freeAtMs = caller.counter.take(cost, nowMs);
    if (freeAtMs === null) return null;
    const { ban } = this.#limit;
    caller.refusals.add(nowMs);
    if (ban === undefined || caller.refusals.count(nowMs) <= ban.afterRefusals) {
      return { isBan: false, freeAtMs };
    }
    caller.bannedUntilMs = nowMs + ban.forMs;
    return { isBan: true, freeAtMs: caller.bannedUntilMs };
  }

  /** Use of an address in the current period. */
  used(address: string, nowMs: EpochMs): number {
    return this.#callerOf(address).counter.used(nowMs);
  }

  #callerOf(address: string): Caller {
    let caller = this.#callers.get(address);
    if (caller === undefined) {
      const refusals = new RollingMinute(this.#limit.periodMs);
      caller = { counter: counters[this.#limit.kind](this.#limit), refusals, bannedUntilMs: 0 };
      this.#callers.set(address, caller);
    }
    return caller;
  }
}

const counters: Readonly<Record<VenueLimit['kind'], (limit: VenueLimit) => Counter>> = {
  fixed({ amount, periodMs }) {
    let period = 0;
    let used = 0;
    const usedAt = (nowMs: EpochMs) => (Math.floor(nowMs / periodMs) === period ? used : 0);
    return {
      take(cost, nowMs) {
        used = usedAt(nowMs) + cost;
        period = Math.floor(nowMs / periodMs);
        return used > amount ? (period + 1) * periodMs : null;
      },
      used: usedAt,
    };
  },
  rolling({ amount, periodMs }) {
    const rolling = new RollingMinute(periodMs);
    return {
      take(cost, nowMs) {
        if (rolling.count(nowMs) + cost > amount) return rolling.freeAt(nowMs);
        for (let unit = 0; unit < cost; unit++) rolling.add(nowMs);
        return null;
      },
      used: (nowMs) => rolling.count(nowMs),
    };
  },
  bucket({ amount, periodMs, burst = amount }) {
    let level = 0;
    let atMs = 0;
    const levelAt = (nowMs: EpochMs) => Math.max(0, level - (Math.max(0, nowMs - atMs) * amount) / periodMs);
    return {
      take(cost, nowMs) {
        const before = levelAt(nowMs);
        if (before + cost > burst) return nowMs + ((before + cost - burst) * periodMs) / amount;
        level = before + cost;
        atMs = nowMs;
        return null;
      },
      used: (nowMs) => Math.ceil(levelAt(nowMs)),
    };
  },
};
