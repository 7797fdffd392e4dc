/** Starts the simulator as a service with the interface's routes, limits and optional faults. */

import { type Clock, systemClock } from '../clock.ts';
import { listen } from '../service/connections.ts';
import type { RangeLimits } from '../service/ranges.ts';
import { createService } from '../service/server.ts';
import { createBans } from './faults/bans.ts';
import { FaultDealer, type Faults, noFaults } from './faults/faults.ts';
import { addFaults, serviceAnswers, serviceClock } from './faults/misbehaviour.ts';
import { defaultSeed } from './hash.ts';
import { RateLimit, RequestLog } from './requests.ts';
import { simulatedMarketData } from './served.ts';
import { createSimulator } from './simulator.ts';

export interface SimulatorServiceOptions {
  /** Default: any free port. */
  readonly port?: number;
  /** Default: loopback. */
  readonly host?: string;
  readonly seed?: string | number;
  /** Requests a rolling minute; null: unlimited. Default: 200 without a key, 500 with one. */
  readonly perMinute?: number | null;
  /** Faults that are not given do not occur. */
  readonly faults?: Partial<Faults>;
  /** The clock of the limits and, plus `clockOffsetMs`, of the data and timestamps. */
  readonly clock?: Clock;
  /** Longest ranges. Default: the interface's. */
  readonly limits?: RangeLimits;
}

export type RunningSimulator = Awaited<ReturnType<typeof startSimulator>>;

/**
 * @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that cannot be listened on; RangeError for impossible
 * faults.
 */
export async function startSimulator(options: SimulatorServiceOptions = {}) {
  const { port = 0, host = '127.0.0.1', seed = defaultSeed, clock = systemClock } = options;
  const dealer = new FaultDealer(String(seed), { ...noFaults, ...options.faults });
  const faults = () => dealer.faults;
  const served = serviceClock(clock, faults);
  const simulator = createSimulator({ seed, clock: served, faults });
  const log = new RequestLog(clock);
  const rateLimit = new RateLimit(options.perMinute);
  const bans = createBans(clock, faults);
  const answers = serviceAnswers({ clock, served, dealer, bans, rateLimit });
  const app = createService({
    data: simulatedMarketData(simulator, faults),
    clock: served,
    limits: options.limits,
    extend: (app) => void addFaults(app, { clock, served, dealer, log, answers }),
  });

  const { url, port: bound } = await listen(app, { host, port });
  return {
    /** Base address, ending in `/v2`. */
    url,
    port: bound,
    /** The correct data by the simulator's clock, including revisions. */
    truth: simulator.truth,
    /** Changes the responses and the truth from a given time onward. */
    revise: simulator.revise,
    requests: () => log.counts(),
    /** Replaces the faults from the next request on. @throws RangeError for a rate outside 0 to 1. */
    setFaults(faults: Partial<Faults>): void {
      dealer.set({ ...noFaults, ...faults });
      bans.begin();
    },
    /** Closes all connections, including those with pending requests. */
    close: (): Promise<void> => app.close(),
  };
}
