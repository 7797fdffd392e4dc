/**
 * The public service: the interface on the store's data, keys and limits, the key form, health, and the description.
 */

import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify';
import type pg from 'pg';
import type { Clock } from '../clock.ts';
import type { EpochMs } from '../model/intervals.ts';
import { yearsBefore } from '../model/time-text.ts';
import { historyDepthYears } from '../v2/limits.ts';
import { type AdmissionOptions, createAdmission } from './admission/admission.ts';
import type { RequestCounter } from './admission/request-counter.ts';
import { endConnectionsOnClose, limitConnections } from './connections.ts';
import { addHealth } from './health.ts';
import { addKeyForm } from './key-form.ts';
import { findKey } from './keys.ts';
import { addDescription } from './openapi/description.ts';
import { createPages } from './pages/pages.ts';
import { assertReadable } from './queries/query.ts';
import { storedMarketData } from './queries/series.ts';
import { addReplicaLag } from './replica-lag.ts';
import { isInterfaceRequest } from './request.ts';
import { addRequestMetrics, type ServedEvent } from './request-metrics.ts';
import { createService, type ServiceTimeouts } from './server.ts';
import { addStream } from './stream/stream.ts';
import { addWebSecurity } from './web-security.ts';

export interface StoredServiceOptions {
  /** Reads market data. Use a role that can only read. */
  readonly reading: pg.Pool;
  /** Calls the database functions that look keys up, count requests and store key requests. */
  readonly accounts: pg.Pool;
  readonly counter: RequestCounter;
  readonly perMinute: AdmissionOptions['perMinute'];
  readonly trustedProxies: number;
  /** Connections per address; absent or 0: unlimited. */
  readonly connectionsPerAddress?: number;
  readonly clock: Clock;
  /** Software version. */
  readonly version: string;
  /** True once shutdown has begun. */
  readonly isDraining: () => boolean;
  /** How long a response is cached, milliseconds; 0: no cache. */
  readonly rememberMs: number;
  /** Directory of the built files of the pages. */
  readonly pages: string;
  /** Absent: no dashboard; `/` redirects to the description. */
  readonly addDashboard?: (app: FastifyInstance) => void;
  readonly timeouts?: ServiceTimeouts;
  /** How far the replica behind `reading` is behind, milliseconds; null: unknown. Absent: it is no replica. */
  readonly replicaLagMs?: () => number | null;
  /** Called after each response. */
  readonly onServed?: ((served: ServedEvent) => void) | undefined;
  readonly log?: FastifyBaseLogger;
}

const defaultTimeouts: ServiceTimeouts = Object.freeze({
  requestMs: 10_000,
  headersMs: 5000,
  silentMs: 30_000,
  // Longer than the 60 s of most proxies: one that took a connection which ends here meanwhile would answer 502.
  keepAliveMs: 75_000,
});

/** Further connections are refused, so that file descriptors remain for the database. */
const maxConnections = 4096;

/** A few hundred of the largest responses. */
const maxCacheBytes = 64 * 1024 * 1024;

/** An order of a key. Those of the dashboard have a password, and work while Redis, which counts requests, is away. */
function isOrder({ method, url }: FastifyRequest): boolean {
  return method === 'POST' && !url.startsWith('/dashboard/');
}

/** Creates the service. It does not listen yet. */
export async function createStoredService(options: StoredServiceOptions): Promise<FastifyInstance> {
  const { reading, accounts, counter, perMinute, clock, timeouts = defaultTimeouts } = options;
  const admission = createAdmission({ counter, perMinute, clock, keyOf: (key) => findKey(accounts, key) });
  const pages = createPages(options.pages, options.addDashboard !== undefined);
  const data = storedMarketData(reading);
  const visibleFrom = (request: FastifyRequest, nowMs: EpochMs) =>
    admission.hasKey(request) ? null : yearsBefore(nowMs, historyDepthYears);
  const app = createService({
    data,
    clock,
    trustedProxies: options.trustedProxies,
    timeouts,
    cache: { forMs: options.rememberMs, maxBytes: maxCacheBytes },
    onClose: 'finish',
    visibleFrom,
    ...(options.log === undefined ? {} : { log: options.log }),
    sendError: pages.sendError,
    extend: (app) => {
      limitConnections(app, {
        clock,
        perAddress: options.connectionsPerAddress ?? 0,
        trustedProxies: options.trustedProxies,
      });
      if (options.onServed !== undefined) addRequestMetrics(app, options.onServed);
      addWebSecurity(app);
      if (options.replicaLagMs !== undefined) addReplicaLag(app, options.replicaLagMs);
      admission.addTo(app, (request) => isInterfaceRequest(request) || isOrder(request));
      addHealth(app, {
        clock,
        isDraining: options.isDraining,
        replicaLagMs: options.replicaLagMs,
        assertReadable: () => Promise.all([assertReadable(reading), counter.check()]),
      });
      pages.addTo(app);
      addKeyForm(app, pages.send, accounts);
      addDescription(app, pages.send, options.version);
      addStream(app, { pool: reading, points: data.points, clock, visibleFrom });
      if (options.addDashboard !== undefined) options.addDashboard(app);
      else app.get('/', async (_request, reply) => reply.redirect('docs'));
    },
  });
  app.server.maxConnections = maxConnections;
  endConnectionsOnClose(app, { clock, timeoutMs: timeouts.requestMs });
  return app;
}
