/** Opens the dashboard of the service. */

import { fileURLToPath } from 'node:url';
import type { Disposer } from '../operations/disposer.ts';
import { budgetInForce } from '../planning/budget.ts';
import type { QueueBackend } from '../queue/backend.ts';
import { dashboardAccess, isReachableByOthers } from '../service/dashboard/access.ts';
import { createQueueReader } from '../service/dashboard/queue.ts';
import type { DashboardOptions } from '../service/dashboard/routes.ts';
import { openDatabase } from '../store/db/database.ts';
import type { Context } from './context.ts';

export interface DashboardParts {
  /** Open queues, closed by the caller; absent: opened when a page first needs them. */
  readonly queues?: QueueBackend;
  /** Marks simulated data. */
  readonly synthetic?: boolean;
}

/** A connection that is silent for this long after its statement timeout is lost. */
export const servedSilenceMs = 1000;
/** One read serves all open pages, so a few connections are enough. */
const connections = 3;
/** Pause after a queue could not be opened. */
const retryMs = 30_000;

/** @param host of the service. @returns null: it is off, or other hosts could reach it without a password. */
export function openDashboard(
  context: Context,
  host: string,
  disposer: Disposer,
  options: DashboardParts,
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
  const database = openDatabase({
    url: context.database.url,
    applicationName: 'tidemark dashboard',
    maxConnections: connections,
    statementTimeoutMs,
    timeoutMarginMs: servedSilenceMs,
    settings: ['default_transaction_read_only=on'],
    onIdleError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
  disposer.add(() => database.close());
  context.metrics?.measurePool('serve_dashboard', database.pool);
  const queues = queuesOf(context, disposer, options.queues);
  return {
    database,
    access,
    assets: fileURLToPath(new URL('../service/dashboard/assets', import.meta.url)),
    graceMs: config.worker.graceMs,
    rangeLimits: config.source.rangeLimits,
    perMinute: config.source.requestsPerMinute,
    ratesMs: config.scheduler.ratesMs,
    synthetic: options.synthetic === true,
    streamsPerAddress: config.service.streamsPerAddress,
    readTimeoutMs: statementTimeoutMs,
    queue: createQueueReader(async () => {
      const { requests, connectedBudgets } = await queues();
      const [depth, workers, pausedMs, windows, budgets] = await Promise.all([
        requests.depth(),
        requests.countWorkers(),
        requests.pausedForMs(),
        requests.queuedRanges(),
        connectedBudgets(),
      ]);
      const perMinute = budgetInForce(config.source, budgets);
      return { depth: { ...depth, workers, pausedMs }, windows, perMinute };
    }),
  };
}

function queuesOf(context: Context, disposer: Disposer, given: QueueBackend | undefined) {
  let opened: Promise<QueueBackend> | null = given === undefined ? null : Promise.resolve(given);
  let retryAtMs = 0;
  if (given === undefined) disposer.add(async () => (await opened?.catch(() => null))?.close());
  return (): Promise<QueueBackend> => {
    if (opened !== null) return opened;
    if (Date.now() < retryAtMs) return Promise.reject(new Error('the queue could not be opened'));
    opened = context.openQueues();
    opened.catch((error: unknown) => {
      opened = null;
      retryAtMs = Date.now() + retryMs;
      const cause = error instanceof Error ? error.message : String(error);
      context.log.warn({ cause }, 'the dashboard cannot open the queue');
    });
    return opened;
  };
}
