/** The service as the configuration describes it, for the commands that serve. */

import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from 'pino';
import { clusterAt } from '../queue/redis-cluster.ts';
import { redisCounter } from '../service/admission/redis-counter.ts';
import { postgresCounter, type RequestCounter } from '../service/admission/request-counter.ts';
import { listen } from '../service/listen.ts';
import { createStoredService } from '../service/stored-service.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { mayBecomeReader, readerRole } from '../store/reader-role.ts';
import { Closing } from './closing.ts';
import { type DashboardLook, openDashboard, servedSilenceMs } from './dashboard.ts';
import type { Session } from './session.ts';
import { version } from './version.ts';

export interface RunningService {
  /** Base address, ending in `/v2`. */
  readonly url: string;
  /** Null: there is none. */
  readonly dashboard: string | null;
  /** Says on `/readyz` that it stops, and goes on answering for the configured time. */
  drain(): Promise<void>;
  /** Finishes what is under way. */
  close(): Promise<void>;
}

/** Few: they look keys up, which are remembered for a moment, and count requests, where Redis does not. */
const accountConnections = 4;

/** @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that cannot be listened on. */
export async function runService(
  session: Session,
  at: { readonly host: string; readonly port: number } = session.config.service,
  look: DashboardLook = {},
): Promise<RunningService> {
  const { config, log } = session;
  const closing = new Closing();
  let isDraining = false;
  try {
    const asReader = await mayBecomeReader(session.database.pool);
    if (!asReader)
      log.warn(
        { role: readerRole },
        'the service works as its own role: it may not take on the one that only reads',
      );
    const role = asReader ? [`role=${readerRole}`] : [];
    const reading = open(session, config.service.connections, [...role, 'default_transaction_read_only=on']);
    closing.add(() => reading.close());
    const accounts = open(session, accountConnections, role);
    closing.add(() => accounts.close());
    session.metrics?.watchPool('serve_data', reading.pool);
    session.metrics?.watchPool('serve_accounts', accounts.pool);
    const counter = counterOf(session, accounts);
    closing.add(() => counter.close());
    const dashboard = openDashboard(session, at.host, closing, look);
    const app = await createStoredService({
      reading: reading.pool,
      accounts: accounts.pool,
      counter,
      perMinute: config.service.perMinute,
      trustedProxies: config.service.trustedProxies,
      rememberMs: config.service.rememberMs,
      now: Date.now,
      version,
      isDraining: () => isDraining,
      told: session.metrics?.serving(),
      log: log as unknown as FastifyBaseLogger,
      ...(dashboard === null ? {} : { dashboard }),
    });
    const { url } = await listen(app, at);
    closing.add(() => app.close());
    return {
      url,
      dashboard: dashboard === null ? null : url.replace(/v2$/, ''),
      async drain() {
        isDraining = true;
        await delay(config.service.drainMs);
      },
      close: () => closing.run(log),
    };
  } catch (error) {
    await closing.run(log);
    throw error;
  }
}

function open(session: Session, maxConnections: number, settings: readonly string[]): Database {
  const { statementTimeoutMs } = session.config.service;
  return openDatabase({
    url: session.database.url,
    applicationName: 'tidemark serve',
    maxConnections,
    statementTimeoutMs,
    silenceMs: servedSilenceMs,
    settings,
    onIdleError: (error) => session.log.warn({ err: error }, 'a database connection was lost'),
  });
}

function counterOf(
  { config, log }: { readonly config: Session['config']; readonly log: Logger },
  accounts: Database,
): RequestCounter {
  const { redisUrl, namespace } = config.queue;
  if (redisUrl === undefined) return postgresCounter(accounts.pool);
  return redisCounter({
    url: redisUrl,
    namespace,
    openCluster: (ofNode) => clusterAt(redisUrl, { ofNode }),
    onError: (error) => log.warn({ cause: error.message }, 'the connection to Redis was lost'),
  });
}
