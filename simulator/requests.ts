/** The simulator's requests: the log of them and the rate limits. */

import type { Clock } from '../clock.ts';
import { type EpochMs, minuteMs } from '../model/intervals.ts';
import { requestsPerMinute } from '../v2/limits.ts';
import type { FaultKind } from './faults/faults.ts';

export interface LoggedRequest {
  readonly atMs: EpochMs;
  /** The same by a monotonic clock, for the distance between requests. */
  readonly monotonicMs: number;
  /** Path and query as sent. */
  readonly url: string;
  /** Null while pending, and forever after a timeout fault. */
  status: number | null;
  fault: FaultKind | null;
}

export type RequestCounts = ReturnType<RequestLog['counts']>;

const kept = 10_000;

export class RequestLog {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #minute = new RollingMinute();
  readonly #byStatus: Record<number, number> = {};
  /** By route, such as `/v2/assets/:id/history`; `unknown` for others. */
  readonly #byRoute: Record<string, number> = {};
  readonly #byFault: Partial<Record<FaultKind, number>> = {};
  #recent: LoggedRequest[] = [];
  /** All requests, including refused ones, like the largest use in any 60 s by the simulator's clock. */
  #total = 0;
  #largestRollingMinute = 0;
  #refused = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** @param cost what the request uses of the source's limit. */
  addRequest(atMs: EpochMs, url: string, route: string, cost = 1): LoggedRequest {
    const monotonicMs = this.#clock.monotonicMs();
    const request: LoggedRequest = { atMs, monotonicMs, url, status: null, fault: null };
    this.#total++;
    this.#byRoute[route] = (this.#byRoute[route] ?? 0) + 1;
    for (let unit = 0; unit < cost; unit++) this.#minute.add(atMs);
    this.#largestRollingMinute = Math.max(this.#largestRollingMinute, this.#minute.count(atMs));
    this.#recent.push(request);
    if (this.#recent.length >= 2 * kept) this.#recent = this.#recent.slice(-kept);
    return request;
  }

  addFault(request: LoggedRequest, fault: FaultKind): void {
    request.fault = fault;
    this.#byFault[fault] = (this.#byFault[fault] ?? 0) + 1;
  }

  /** A request beyond a limit or in a ban, or without a needed key, with whatever status. */
  addRefusal(): void {
    this.#refused++;
  }

  addResponse(request: LoggedRequest, status: number): void {
    request.status = status;
    this.#byStatus[status] = (this.#byStatus[status] ?? 0) + 1;
  }

  /** `recent` holds the last 10,000, oldest first. */
  counts() {
    return {
      total: this.#total,
      largestRollingMinute: this.#largestRollingMinute,
      count429: this.#byStatus[429] ?? 0,
      refused: this.#refused,
      byStatus: { ...this.#byStatus },
      byRoute: { ...this.#byRoute },
      byFault: { ...this.#byFault },
      recent: this.#recent.slice(-kept),
    };
  }
}

/** The interface's limits per rolling minute, for each key and for each address without one. */
export class RateLimit {
  readonly #perMinute: number | null | undefined;
  readonly #callers = new Map<string, RollingMinute>();

  /** @param perMinute one limit for all callers; null: unlimited; undefined: the interface's limits. */
  constructor(perMinute: number | null | undefined) {
    this.#perMinute = perMinute;
  }

  /** The limit of a caller, requests a minute; null: unlimited. */
  limitOf(key: string | null): number | null {
    if (this.#perMinute !== undefined) return this.#perMinute;
    return key === null ? requestsPerMinute.withoutKey : requestsPerMinute.withKey;
  }

  /** Admits a request and returns null, or returns when the next is allowed. Refused requests do not count. */
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

export class RollingMinute {
  readonly #periodMs: number;
  // The times before `#first` are older than the period; they are removed in batches.
  #times: EpochMs[] = [];
  #first = 0;

  /** @param periodMs another length than a minute. */
  constructor(periodMs: number = minuteMs) {
    this.#periodMs = periodMs;
  }

  /** Number of times in the period before `nowMs`. A time exactly a period old no longer counts. */
  count(nowMs: EpochMs): number {
    while (this.#first < this.#times.length && (this.#times[this.#first] ?? 0) <= nowMs - this.#periodMs) this.#first++;
    if (this.#first > 10_000) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    return this.#times.length - this.#first;
  }

  add(nowMs: EpochMs): void {
    this.#times.push(nowMs);
  }

  /** When the oldest time expires; `nowMs` without any. */
  freeAt(nowMs: EpochMs): EpochMs {
    return this.count(nowMs) === 0 ? nowMs : (this.#times[this.#first] ?? nowMs) + this.#periodMs;
  }
}
