/** The simulator as a running service: the interface's routes, limits and, on request, faults. */

import type { EpochMs } from '../contract/intervals.ts';
import { listen } from '../service/listen.ts';
import { rendered } from '../service/market-rows.ts';
import { interfaceLimits, type RangeLimits } from '../service/ranges.ts';
import { createService } from '../service/server.ts';
import { withEarlyValues } from './early-values.ts';
import { capped, FaultDealer, type Faults, noFaults } from './faults.ts';
import { addMisbehaviour } from './misbehaviour.ts';
import { RateLimit } from './rate-limit.ts';
import { type RequestCounts, RequestLog } from './request-log.ts';
import type { Revision } from './revisions.ts';
import { ServiceClock } from './service-clock.ts';
import { createSimulator, type Truth } from './simulator.ts';

export interface SimulatorServiceOptions {
  /** Any free one unless given. */
  readonly port?: number;
  /** Loopback unless given. */
  readonly host?: string;
  readonly seed?: string | number;
  /** Requests a rolling minute; null for no limit. Unless given, the interface's: 200 without a key, 500 with one. */
  readonly perMinute?: number | null;
  /** What is not given does not occur. */
  readonly faults?: Partial<Faults>;
  /** The time by which requests are limited and, unless its clock is off, data is known and answers are stamped. */
  readonly now?: () => EpochMs;
  /** Longest ranges; the interface's unless given. */
  readonly limits?: RangeLimits;
  /** Compress answers for clients that ask for it; true unless given. */
  readonly gzip?: boolean;
}

export interface RunningSimulator {
  /** Base address, ending in `/v2`. */
  readonly url: string;
  readonly port: number;
  /** What it would answer by its clock, free of limits and faults; what it revises is as it is known at the time. */
  readonly truth: Truth;
  /** Changes what it answers, and its truth, from a moment on. */
  revise(revision: Revision): void;
  requests(): RequestCounts;
  /** From the next request on. What is not given does not occur. @throws RangeError for a rate outside 0 to 1. */
  setFaults(faults: Partial<Faults>): void;
  /** Ends every connection, unanswered ones too. */
  close(): Promise<void>;
}

export const defaultSeed = 'tidemark';

/** @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that cannot be listened on; RangeError for impossible faults. */
export async function startSimulator(options: SimulatorServiceOptions = {}): Promise<RunningSimulator> {
  const { port = 0, host = '127.0.0.1', seed = defaultSeed, now = Date.now } = options;
  const { limits = interfaceLimits, gzip = true } = options;
  const dealer = new FaultDealer(String(seed), { ...noFaults, ...options.faults });
  const faults = () => dealer.faults;
  const clock = new ServiceClock(now, faults);
  const honest = createSimulator({ seed, now: clock.now });
  const simulator = withEarlyValues(honest, String(seed), faults, clock.now);
  const log = new RequestLog();
  const data = rendered(capped(simulator, faults));
  const parts = { now, clock, rateLimit: new RateLimit(options.perMinute), dealer, log };
  const app = createService({
    ...{ data, now: clock.now, limits, gzip },
    extend: (app) => addMisbehaviour(app, parts),
  });

  const { url, port: bound } = await listen(app, { host, port });
  return {
    url,
    port: bound,
    truth: simulator.truth,
    revise: simulator.revise,
    requests: () => log.counts(),
    setFaults: (faults) => dealer.set({ ...noFaults, ...faults }),
    close: () => app.close(),
  };
}
