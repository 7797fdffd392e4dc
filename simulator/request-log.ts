/** What the simulator was asked: counts of everything, and the last requests in full. */

import type { EpochMs } from '../contract/intervals.ts';
import type { FaultKind } from './faults.ts';
import { RollingMinute } from './rolling-minute.ts';

export interface LoggedRequest {
  readonly atMs: EpochMs;
  /** The same on a clock that only goes forward, whatever the simulator's does: for how far requests are apart. */
  readonly monotonicMs: number;
  /** Path and query as sent. */
  readonly url: string;
  /** Null while unanswered, and for good after a timeout fault. */
  status: number | null;
  fault: FaultKind | null;
}

export interface RequestCounts {
  /** Every request that arrived, refused ones included. */
  readonly total: number;
  /** Most arrivals in any 60 s, refused ones included, by the simulator's clock. */
  readonly largestRollingMinute: number;
  readonly count429: number;
  readonly byStatus: Readonly<Record<number, number>>;
  /** By route, such as `/v2/assets/:id/history`; `unknown` for others. */
  readonly byRoute: Readonly<Record<string, number>>;
  readonly byFault: Readonly<Partial<Record<FaultKind, number>>>;
  /** The last 10,000, oldest first. */
  readonly recent: readonly Readonly<LoggedRequest>[];
}

const kept = 10_000;

export class RequestLog {
  readonly #minute = new RollingMinute();
  readonly #byStatus: Record<number, number> = {};
  readonly #byRoute: Record<string, number> = {};
  readonly #byFault: Partial<Record<FaultKind, number>> = {};
  #recent: LoggedRequest[] = [];
  #total = 0;
  #largestRollingMinute = 0;

  arrived(atMs: EpochMs, url: string, route: string): LoggedRequest {
    const request: LoggedRequest = { atMs, monotonicMs: performance.now(), url, status: null, fault: null };
    this.#total++;
    this.#byRoute[route] = (this.#byRoute[route] ?? 0) + 1;
    this.#minute.add(atMs);
    this.#largestRollingMinute = Math.max(this.#largestRollingMinute, this.#minute.count(atMs));
    this.#recent.push(request);
    if (this.#recent.length >= 2 * kept) this.#recent = this.#recent.slice(-kept);
    return request;
  }

  faulted(request: LoggedRequest, fault: FaultKind): void {
    request.fault = fault;
    this.#byFault[fault] = (this.#byFault[fault] ?? 0) + 1;
  }

  answered(request: LoggedRequest, status: number): void {
    request.status = status;
    this.#byStatus[status] = (this.#byStatus[status] ?? 0) + 1;
  }

  counts(): RequestCounts {
    return {
      total: this.#total,
      largestRollingMinute: this.#largestRollingMinute,
      count429: this.#byStatus[429] ?? 0,
      byStatus: { ...this.#byStatus },
      byRoute: { ...this.#byRoute },
      byFault: { ...this.#byFault },
      recent: this.#recent.slice(-kept),
    };
  }
}
