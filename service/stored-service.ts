/**
 * The service as it faces the world: the store's data over the interface, keys and limits, the form for keys, health,
 * and the description of it all.
 */

import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type pg from 'pg';
import type { EpochMs } from '../contract/intervals.ts';
import { historyDepthYears } from '../contract/limits.ts';
import { askForKey, keyOf } from '../store/keys.ts';
import { assertReadable } from '../store/market-data/query.ts';
import { storedMarketData } from '../store/market-data/stored-market-data.ts';
import { type AdmissionOptions, createAdmission } from './admission/admission.ts';
import type { RequestCounter } from './admission/request-counter.ts';
import { addDashboard, type DashboardOptions } from './dashboard/routes.ts';
import { addHealth } from './health.ts';
import { endConnectionsOnClose } from './idle-connections.ts';
import { addKeyForm } from './key-form/form.ts';
import { addDescription } from './openapi/routes.ts';
import type { RangeLimits } from './ranges.ts';
import { createService, type Patience } from './server.ts';
import { isOfInterface } from './target.ts';
import { addTelling, type ServedTold } from './telling.ts';
import { addWebSecurity } from './web-security.ts';

export interface StoredServiceOptions {
  /** Reads what is served. Best of a role that can do no more. */
  readonly reading: pg.Pool;
  /** Looks keys up, counts requests and stores requests for keys, through the functions made for that. */
  readonly accounts: pg.Pool;
  readonly counter: RequestCounter;
  readonly perMinute: AdmissionOptions['perMinute'];
  readonly trustedProxies: number;
  readonly now: () => EpochMs;
  /** Of the software. */
  readonly version: string;
  /** True once the process has been asked to stop. */
  readonly isDraining: () => boolean;
  /** How old an answer may be; 0: each request has a statement of its own. */
  readonly rememberMs: number;
  /** Absent: there is no dashboard, and `/` is the description. */
  readonly dashboard?: DashboardOptions;
  readonly limits?: RangeLimits;
  readonly patience?: Patience;
  /** Hears of each answer. */
  readonly told?: ((served: ServedTold) => void) | undefined;
  readonly log?: FastifyBaseLogger;
}

export const usualPatience: Patience = Object.freeze({
  requestMs: 10_000,
  silentMs: 30_000,
  keepAliveMs: 30_000,
});

/** Connections at once: more than that is refused, so that there are descriptors left for the database's. */
const mostConnections = 4096;

/** Some hundred of the largest answers. */
const mostRememberedBytes = 64 * 1024 * 1024;

/** Not listening yet. */
export async function createStoredService(options: StoredServiceOptions): Promise<FastifyInstance> {
  const { reading, accounts, counter, perMinute, now, patience = usualPatience } = options;
  const admission = createAdmission({ counter, perMinute, now, keyOf: (key) => keyOf(accounts, key) });
  const app = createService({
    data: await storedMarketData(reading),
    now,
    trustedProxies: options.trustedProxies,
    patience,
    memory: { forMs: options.rememberMs, mostBytes: mostRememberedBytes },
    onClose: 'finish',
    visibleFrom: (request, nowMs) =>
      admission.hasKey(request) ? null : yearsBefore(nowMs, historyDepthYears),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.log === undefined ? {} : { log: options.log }),
    extend: (app) => {
      if (options.told !== undefined) addTelling(app, options.told);
      addWebSecurity(app);
      admission.addTo(app, (request) => isOfInterface(request) || request.method === 'POST');
      addHealth(app, { now, isDraining: options.isDraining, canRead: () => canRead(reading, counter) });
      addKeyForm(app, (asked, caller) => askForKey(accounts, asked, caller));
      addDescription(app, options.version);
      if (options.dashboard !== undefined) addDashboard(app, options.dashboard, now);
      else app.get('/', async (_request, reply) => reply.redirect('docs'));
    },
  });
  app.server.maxConnections = mostConnections;
  endConnectionsOnClose(app, patience.requestMs);
  return app;
}

/** Whether a request would be answered: what is served can be read, and requests can be counted. */
async function canRead(pool: pg.Pool, counter: RequestCounter): Promise<boolean> {
  await Promise.all([assertReadable(pool), counter.check()]);
  return true;
}

function yearsBefore(timeMs: EpochMs, years: number): EpochMs {
  const date = new Date(timeMs);
  return date.setUTCFullYear(date.getUTCFullYear() - years);
}
