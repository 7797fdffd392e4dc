/** Starts the service for the commands that serve. */

import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from 'pino';
import { Disposer } from '../operations/disposer.ts';
import { openCluster } from '../queue/redis.ts';
import { postgresCounter, type RequestCounter, redisCounter } from '../service/admission/request-counter.ts';
import { listen } from '../service/connections.ts';
import { createStoredService } from '../service/stored-service.ts';
import { mayBecomeReader, readerRole } from '../store/auth/roles.ts';
import { type Database, openDatabase } from '../store/db/database.ts';
import { version } from '../version.ts';
import type { Context } from './context.ts';
import { type DashboardParts, openDashboard, servedSilenceMs } from './dashboard.ts';

export interface RunningService {
  /** Base address, ending in `/v2`. */
  readonly url: string;
  /** Null: no dashboard. */
  readonly dashboard: string | null;
  /** Reports on `/readyz` that it stops, and keeps answering for the configured time. */
  drain(): Promise<void>;
  /** Finishes open requests. */
  close(): Promise<void>;
}

/** For keys, which are cached, and for counting requests without Redis. */
const accountConnections = 4;

/** @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that it cannot listen on. */
export async function runService(
  context: Context,
  at: { readonly host: string; readonly port: number } = context.config.service,
  parts: DashboardParts = {},
): Promise<RunningService> {
  const { config, log } = context;
  const disposer = new Disposer();
  let isDraining = false;
  try {
    const asReader = await mayBecomeReader(context.database.pool);
    if (!asReader)
      log.warn(
        { role: readerRole },
        'the service keeps its own role, because it may not use the read-only role',
      );
    const role = asReader ? [`role=${readerRole}`] : [];
    const reading = open(context, config.service.connections, [...role, 'default_transaction_read_only=on']);
    disposer.add(() => reading.close());
    // Functions write here, also where the role of the service is read-only by default.
    const accounts = open(context, accountConnections, [...role, 'default_transaction_read_only=off']);
    disposer.add(() => accounts.close());
    context.metrics?.measurePool('serve_data', reading.pool);
    context.metrics?.measurePool('serve_accounts', accounts.pool);
    const counter = counterOf(context, accounts);
    disposer.add(() => counter.close());
    const dashboard = openDashboard(context, at.host, disposer, parts);
    const app = await createStoredService({
      reading: reading.pool,
      accounts: accounts.pool,
      counter,
      perMinute: config.service.perMinute,
      trustedProxies: config.service.trustedProxies,
      connectionsPerAddress: config.service.connectionsPerAddress,
      rememberMs: config.service.rememberMs,
      now: Date.now,
      version,
      isDraining: () => isDraining,
      onServed: context.metrics?.serving(),
      log: log as unknown as FastifyBaseLogger,
      ...(dashboard === null ? {} : { dashboard }),
    });
    const { url } = await listen(app, at);
    disposer.add(() => app.close());
    return {
      url,
      dashboard: dashboard === null ? null : url.replace(/v2$/, ''),
      async drain() {
        isDraining = true;
        await delay(config.service.drainMs);
      },
      close: () => disposer.run(log),
    };
  } catch (error) {
    await disposer.run(log);
    throw error;
  }
}

function open(context: Context, maxConnections: number, settings: readonly string[]): Database {
  const { statementTimeoutMs } = context.config.service;
  return openDatabase({
    url: context.database.url,
    applicationName: 'tidemark serve',
    maxConnections,
    statementTimeoutMs,
    timeoutMarginMs: servedSilenceMs,
    settings,
    onIdleError: (error) => context.log.warn({ err: error }, 'a database connection was lost'),
  });
}

function counterOf(
  { config, log }: { readonly config: Context['config']; readonly log: Logger },
  accounts: Database,
): RequestCounter {
  const { redisUrl, namespace } = config.queue;
  if (redisUrl === undefined) return postgresCounter(accounts.pool);
  return redisCounter({
    url: redisUrl,
    namespace,
    openCluster: (ofNode) => openCluster(redisUrl, ofNode),
    onError: (error) => log.warn({ cause: error.message }, 'the connection to Redis was lost'),
  });
}
