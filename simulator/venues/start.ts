/** Starts a simulated venue: its own interface over the synthetic market, with its limits and optional faults. */

import Fastify, { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { type Clock, systemClock } from '../../clock.ts';
import { type EpochMs, minuteMs } from '../../model/intervals.ts';
import type { CandleSeries, SeriesKey, TimeRange } from '../../model/series.ts';
import { addCompression } from '../../service/compression.ts';
import { listen } from '../../service/connections.ts';
import { createBans } from '../faults/bans.ts';
import type { Revision } from '../faults/changes.ts';
import { FaultDealer, type Faults, noFaults } from '../faults/faults.ts';
import { addFaults, type SourceAnswers, serviceClock } from '../faults/misbehaviour.ts';
import { defaultSeed } from '../hash.ts';
import { RequestLog } from '../requests.ts';
import { simulatedMarketData } from '../served.ts';
import { createSimulator } from '../simulator.ts';
import { type LimitRefusal, type VenueLimit, VenueLimits } from './limits.ts';
import {
  type VenueAnswer,
  VenueData,
  type VenueName,
  type VenueOptions,
  type VenueRequest,
  type VenueRoute,
} from './venue.ts';
import { venues } from './venues.ts';

export interface VenueSimulatorOptions extends VenueOptions {
  readonly profile: VenueName;
  /** Default: any free port. */
  readonly port?: number;
  /** Default: loopback. */
  readonly host?: string;
  readonly seed?: string | number;
  /** One limit of the venue's unit in a minute for all routes; null: unlimited. Default: the venue's own. */
  readonly perMinute?: number | null;
  /** Faults that are not given do not occur. */
  readonly faults?: Partial<Faults>;
  /** The clock of the limits and, plus `clockOffsetMs`, of the data. */
  readonly clock?: Clock;
}

export type RunningVenueSimulator = Awaited<ReturnType<typeof startVenueSimulator>>;

/**
 * @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that cannot be listened on; RangeError for impossible
 * faults.
 */
export async function startVenueSimulator(options: VenueSimulatorOptions) {
  const { profile, port = 0, host = '127.0.0.1', seed = defaultSeed, clock = systemClock, perMinute } = options;
  const venue = venues[profile](options);
  const { basePath = '' } = venue;
  const dealer = new FaultDealer(String(seed), { ...noFaults, ...options.faults });
  const faults = () => dealer.faults;
  const served = serviceClock(clock, faults);
  const simulator = createSimulator({ seed, clock: served, faults });
  const service = simulatedMarketData(simulator, faults);
  const log = new RequestLog(clock);
  const bans = createBans(clock, faults);

  const routes = new Map<string | undefined, VenueRoute>(venue.routes.map((route) => [basePath + route.path, route]));
  const routeOf = (request: FastifyRequest) => routes.get(request.routeOptions.url);
  const costOf = (request: FastifyRequest) => {
    const { cost = 1 } = routeOf(request) ?? {};
    return typeof cost === 'number' ? cost : cost(queryOf(request));
  };

  const whole: VenueLimit | null | undefined =
    perMinute === undefined || perMinute === null
      ? perMinute
      : { ...venue.limit, amount: perMinute, burst: perMinute, periodMs: minuteMs };
  const counted = new Map<VenueLimit, VenueLimits>();
  function limitsOf(request: FastifyRequest): VenueLimits | null {
    const limit = whole === undefined ? (routeOf(request)?.limit ?? venue.limit) : whole;
    if (limit === null) return null;
    const limits = counted.get(limit) ?? new VenueLimits(limit);
    counted.set(limit, limits);
    return limits;
  }

  const app = Fastify({
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
  });
  const answers: SourceAnswers = {
    costOf,
    admit(request, reply) {
      const limits = limitsOf(request);
      const refusal = limits?.admit(request.ip, costOf(request), clock.now()) ?? null;
      reply.headers(venue.headers?.(limits?.used(request.ip, clock.now()) ?? 0) ?? {});
      const ban = bans.answer((inMs) => venue.refuse({ isBan: true, inMs, freeAtMs: served.now() + inMs }));
      if (ban !== null) return send(reply, ban);
      if (refusal !== null) return refuse(reply, refusal);
      const other = venue.admit?.(venueRequest(request)) ?? null;
      return other === null ? null : send(reply, other);
    },
    refuse: (reply, freeAtMs) => refuse(reply, { isBan: false, freeAtMs }),
    failure: () => String(venue.failure.body),
    empty: () => undefined,
  };
  const faultOf = addFaults(app, { clock, served, dealer, log, answers });
  addCompression(app);
  for (const [path = '', route] of routes)
    app.get(path, async (request, reply) => send(reply, await route.answer(venueRequest(request))));
  app.setNotFoundHandler((_request, reply) => send(reply, venue.unknownPath));

  function venueRequest(request: FastifyRequest): VenueRequest {
    const nowMs = served.now();
    return {
      query: queryOf(request),
      params: request.params as Record<string, string>,
      header: (name) => [request.headers[name]].flat()[0],
      nowMs,
      data: new VenueData(venue, simulator, {
        service,
        faults: dealer.faults,
        isEmpty: faultOf(request) === 'empty',
        nowMs,
      }),
    };
  }

  function refuse(reply: FastifyReply, { isBan, freeAtMs }: LimitRefusal): FastifyReply {
    const inMs = freeAtMs - clock.now();
    return send(reply, venue.refuse({ isBan, inMs, freeAtMs: served.now() + inMs }));
  }

  function send(reply: FastifyReply, { status, body, headers = {} }: VenueAnswer): FastifyReply {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    venue.sent?.({ status, bytes: bytes.length, nowMs: clock.now() });
    return reply.code(status).type('application/json; charset=utf-8').headers(headers).send(bytes);
  }

  /** A venue has the markets of a synthetic exchange under its own name. */
  const known = <Key extends SeriesKey>(series: Key): Key =>
    'exchange' in series && series.exchange === profile && venue.exchange !== null
      ? { ...series, exchange: venue.exchange }
      : series;
  const { truth } = simulator;
  const { url, port: bound } = await listen(app, { host, port, path: basePath });
  return {
    /** Base address, without a path unless the venue's has one. */
    url,
    port: bound,
    /** The correct data by the simulator's clock, including revisions. */
    truth: {
      ...truth,
      candles: (series: CandleSeries, range: TimeRange, asOfMs?: EpochMs) =>
        truth.candles(known(series), range, asOfMs),
    },
    /** Changes the responses and the truth from a given time onward. */
    revise: (revision: Revision) => simulator.revise({ ...revision, series: known(revision.series) }),
    /**
     * Counts of requests: `largestRollingMinute` is in the venue's unit, `creditsUsed` are those of the current month.
     */
    requests: () => ({ ...log.counts(), creditsUsed: venue.creditsUsed?.(clock.now()) ?? 0 }),
    /** Replaces the faults from the next request on. @throws RangeError for a rate outside 0 to 1. */
    setFaults(faults: Partial<Faults>): void {
      dealer.set({ ...noFaults, ...faults });
      bans.begin();
    },
    /** Closes all connections, including those with pending requests. */
    close: (): Promise<void> => app.close(),
  };
}

function queryOf({ url }: FastifyRequest): VenueRequest['query'] {
  return Object.fromEntries(new URL(url, 'http://venue').searchParams);
}
