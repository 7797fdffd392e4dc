/** Starts the service, with the dashboard, for the commands that serve. */

import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from 'pino';
import { dashboardAccess, isReachableByOthers } from '../dashboard/access.ts';
import { makeToken } from '../dashboard/actions.ts';
import { createQueueReader } from '../dashboard/queue.ts';
import { addDashboard, type DashboardOptions } from '../dashboard/routes.ts';
import { messageOf } from '../errors.ts';
import { defaultSource } from '../model/sources.ts';
import type { OperationContext } from '../operations/context.ts';
import { Disposer } from '../operations/disposer.ts';
import { joinQueues } from '../operations/sources/queues.ts';
import { readQueueFacts } from '../operations/status/queue-facts.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { openCluster } from '../queue/redis.ts';
import { mayBecomeReader, readerRole } from '../schema/roles.ts';
import { postgresCounter, type RequestCounter, redisCounter } from '../service/admission/request-counter.ts';
import { assertListenable, listen } from '../service/connections.ts';
import { createStoredService } from '../service/stored-service.ts';
import { type Database, openDatabase } from '../store/db/database.ts';
import { bool, statement } from '../store/db/statement.ts';
import { sourcesInUse } from '../store/series/sources.ts';
import { readLoweredBudgets } from '../store/settings/source-orders.ts';
import { version } from '../version.ts';
import type { Context } from './context.ts';
import { actionPorts, statePorts } from './dashboard-ports.ts';
import { type ReplicaWatch, watchReplica } from './replica.ts';

export interface ServiceUse {
  /** Open queues, closed by the caller; absent: opened when a page first needs them. */
  readonly queues?: QueueBackend;
  /** Marks simulated data. */
  readonly synthetic?: boolean;
}

export interface RunningService {
  /** Base address, ending in `/v2`. */
  readonly url: string;
  /** Null: no dashboard. */
  readonly dashboard: string | null;
  /** Says where the token of actions is; null: they need the password, or there is no dashboard. */
  readonly actions: string | null;
  /** Reports on `/readyz` that it stops, and keeps answering for the configured time. */
  drain(): Promise<void>;
  /** Finishes open requests. */
  close(): Promise<void>;
}

/** For keys, which are cached, and for counting requests without Redis. */
const accountConnections = 4;
/** A connection that is silent for this long after its statement timeout is lost. */
const servedSilenceMs = 1000;
/** One read serves all open pages, so a few connections are enough. */
const dashboardConnections = 3;
/** Of `serve`, `run` and `demo`: only the first has options. */
const listenSettings = { port: 'SERVE_PORT, or --port of serve and run', host: 'SERVE_HOST, or --host of serve' };
/** Of its actions, where they have a role of their own. */
const actorConnections = 5;
/** Pause after a queue could not be opened. */
const queueRetryMs = 30_000;

/**
 * Before anything is fetched.
 *
 * @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that it cannot listen on.
 */
export const assertPortFree = (at: { readonly host: string; readonly port: number }) =>
  assertListenable(at, listenSettings);

/** @throws TidemarkError PORT_IN_USE, BAD_ARGUMENT for an address that it cannot listen on. */
export async function runService(
  context: Context,
  at: { readonly host: string; readonly port: number } = context.config.service,
  parts: ServiceUse = {},
): Promise<RunningService> {
  const { clock, config, log } = context;
  const disposer = new Disposer(clock);
  let isDraining = false;
  try {
    const asReader = await mayBecomeReader(context.database.pool);
    if (!asReader)
      log.warn({ role: readerRole }, 'the service keeps its own role, because it may not use the read-only role');
    const role = asReader ? [`role=${readerRole}`] : [];
    const readFrom = config.service.databaseUrl ?? context.database.url;
    const reading = open(context, 'serve', config.service.connections, {
      url: readFrom,
      settings: [...role, 'default_transaction_read_only=on'],
    });
    disposer.add(() => reading.close());
    // Functions write here, also where the role of the service is read-only by default.
    const accounts = open(context, 'serve', accountConnections, {
      url: context.database.url,
      settings: [...role, 'default_transaction_read_only=off'],
    });
    disposer.add(() => accounts.close());
    context.metrics?.measurePool('serve_data', reading.pool);
    context.metrics?.measurePool('serve_accounts', accounts.pool);
    const counter = counterOf(context, accounts);
    disposer.add(() => counter.close());
    const replica =
      config.service.databaseUrl === undefined ? null : await watchReplica(accounts.pool, reading.pool, { clock, log });
    if (replica !== null) {
      disposer.add(() => replica.close());
      context.metrics?.measureReplica(replica.lagMs);
    }
    const actor = await openActor(context, disposer);
    const dashboard = openDashboard(context, at.host, disposer, { ...parts, replica, actor });
    const app = await createStoredService({
      reading: reading.pool,
      accounts: accounts.pool,
      counter,
      perMinute: config.service.perMinute,
      trustedProxies: config.service.trustedProxies,
      connectionsPerAddress: config.service.connectionsPerAddress,
      rememberMs: config.service.rememberMs,
      clock,
      version,
      isDraining: () => isDraining,
      pages: fileURLToPath(new URL('../service/pages/files', import.meta.url)),
      onServed: context.metrics?.serving(),
      log: log as unknown as FastifyBaseLogger,
      ...(dashboard === null ? {} : { addDashboard: (app) => addDashboard(app, dashboard, clock) }),
      ...(replica === null ? {} : { replicaLagMs: replica.lagMs }),
    });
    const { url } = await listen(app, at, listenSettings);
    disposer.add(() => app.close());
    const page = dashboard === null ? null : url.replace(/v2$/, '');
    return {
      url,
      dashboard: page,
      actions:
        dashboard?.actions?.mayWrite !== true || dashboard.access.kind === 'password'
          ? null
          : whereToken(isReachableByOthers(dashboard.access, at.host), page ?? '', dashboard.actions.token),
      async drain() {
        isDraining = true;
        await clock.sleep(config.service.drainMs);
      },
      close: () => disposer.run(log),
    };
  } catch (error) {
    await disposer.run(log);
    throw error;
  }
}

/**
 * Many may read the log of a process that other machines reach, such as of a container: its token is in a file that
 * only its user may read.
 *
 * @param page its address, which may be 0.0.0.0.
 */
function whereToken(isPublic: boolean, page: string, token: string): string {
  const what = 'actions at the dashboard, from this machine: ';
  if (!isPublic) return `${what}${page}#token=${token}`;
  const { port } = new URL(page);
  const file = join(tmpdir(), `tidemark-dashboard-${port}`);
  try {
    rmSync(file, { force: true });
    writeFileSync(file, `http://127.0.0.1:${port}/#token=${token}\n`, { mode: 0o600, flag: 'wx' });
    return `${what}their address is in ${file}`;
  } catch (error) {
    return `${what}their address cannot be written: ${messageOf(error)}`;
  }
}

function open(
  context: Context,
  name: 'serve' | 'dashboard',
  maxConnections: number,
  {
    url,
    settings,
    statementTimeoutMs = context.config.service.statementTimeoutMs,
  }: { readonly url: string; readonly settings: readonly string[]; readonly statementTimeoutMs?: number },
): Database {
  return openDatabase({
    url,
    applicationName: `tidemark ${name}`,
    maxConnections,
    statementTimeoutMs,
    timeoutMarginMs: servedSilenceMs,
    settings,
    onIdleError: (cause) => context.log.warn({ cause }, 'a database connection was lost'),
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

/** Carries out what is asked for at the dashboard. */
interface Actor {
  readonly context: OperationContext;
  /** Whether its role of the database may. */
  readonly mayWrite: boolean;
}

async function openActor(context: Context, disposer: Disposer): Promise<Actor> {
  const { actionsUrl: url } = context.config.service;
  if (url === undefined) return { context, mayWrite: await mayRecord(context.database) };
  const { statementTimeoutMs } = context.config.database;
  const database = open(context, 'dashboard', actorConnections, { url, settings: [], statementTimeoutMs });
  disposer.add(() => database.close());
  const openQueues = () => context.openQueues(url);
  return { context: { ...context, database, openQueues }, mayWrite: await mayRecord(database) };
}

async function mayRecord(database: Database): Promise<boolean> {
  const [found] = await mayWriteActions.on(database.pool, {});
  return found?.may === true;
}

const mayWriteActions = statement({
  name: 'may-write-actions',
  text: `select has_table_privilege('tidemark.actions', 'insert') as may`,
  row: { may: bool },
});

/** @param host of the service. @returns null: it is off, or other hosts could reach it without a password. */
export function openDashboard(
  context: Context,
  host: string,
  disposer: Disposer,
  options: ServiceUse & { readonly replica?: ReplicaWatch | null; readonly actor?: Actor },
): DashboardOptions | null {
  const { config, log } = context;
  const { dashboard, dashboardPassword: password, trustedProxies, statementTimeoutMs } = config.service;
  const access = dashboardAccess({ dashboard, password, trustedProxies }, host);
  if (access === null) return null;
  if (isReachableByOthers(access, host))
    log.warn(
      { host },
      'other hosts may reach the dashboard, which has no password and allows this machine by its address',
    );
  const openAt = (url: string, connections: number) => {
    const opened = open(context, 'dashboard', connections, { url, settings: ['default_transaction_read_only=on'] });
    disposer.add(() => opened.close());
    return opened;
  };
  const database = openAt(config.service.databaseUrl ?? context.database.url, dashboardConnections);
  const replica = options.replica ?? null;
  context.metrics?.measurePool('serve_dashboard', database.pool);
  const primary = replica === null ? database : openAt(context.database.url, 1);
  const actor = options.actor ?? { context, mayWrite: false };
  const queues = queuesOf(actor.context, disposer, options.queues);
  return {
    database,
    ...(replica === null ? {} : { replica: { lagMs: replica.lagMs, primary } }),
    access,
    actions: {
      ports: actionPorts(actor.context),
      database: actor.context.database,
      mayWrite: actor.mayWrite,
      ...{ log, token: makeToken() },
    },
    ports: statePorts({ database, primary, config, sources: () => context.sources() }),
    assets: fileURLToPath(new URL('../dashboard/assets', import.meta.url)),
    graceMs: config.worker.graceMs,
    perMinute: config.source.requestsPerMinute,
    synthetic: options.synthetic === true,
    streamsPerAddress: config.service.streamsPerAddress,
    readTimeoutMs: statementTimeoutMs,
    queue: createQueueReader(context.clock, async () => {
      const opened = await queues();
      const inUse = await sourcesInUse(database);
      const lowered = await readLoweredBudgets(database);
      const requests = joinQueues(opened, [...new Set([defaultSource, ...inUse])]);
      const [depth, workers, { windows, perMinute, ...facts }] = await Promise.all([
        requests.depth(),
        requests.countWorkers(),
        readQueueFacts(context, opened, inUse, lowered),
      ]);
      return { depth: { ...depth, workers }, windows, perMinute, facts };
    }),
  };
}

function queuesOf(context: OperationContext, disposer: Disposer, given: QueueBackend | undefined) {
  let opened: Promise<QueueBackend> | null = given === undefined ? null : Promise.resolve(given);
  let retryAtMs = 0;
  if (given === undefined) disposer.add(async () => (await opened?.catch(() => null))?.close());
  return (): Promise<QueueBackend> => {
    if (opened !== null) return opened;
    if (context.clock.now() < retryAtMs) return Promise.reject(new Error('the queue could not be opened'));
    opened = context.openQueues();
    opened.catch((error: unknown) => {
      opened = null;
      retryAtMs = context.clock.now() + queueRetryMs;
      context.log.warn({ cause: messageOf(error) }, 'the dashboard cannot open the queue');
    });
    return opened;
  };
}
