/** The dashboard as the configuration describes it, beside the service. */

import { fileURLToPath } from 'node:url';
import type { QueueBackend } from '../queue/backend.ts';
import { accessOf, isWithinReach } from '../service/dashboard/access.ts';
import { servedQueue } from '../service/dashboard/queue.ts';
import type { DashboardOptions } from '../service/dashboard/routes.ts';
import { openDatabase } from '../store/database.ts';
import type { Closing } from './closing.ts';
import type { Session } from './session.ts';

export interface DashboardLook {
  /** Open already, and closed by whoever opened them; absent: they are opened when a page first asks. */
  readonly queues?: QueueBackend;
  /** Everything is simulated, and is to be marked so. */
  readonly synthetic?: boolean;
}

/** Somebody waits: what is silent for so long after the end of its time is gone. */
export const servedSilenceMs = 1000;
/** Few: one reading serves every page, and the rest is asked for by people. */
const connections = 3;
/** How long a queue that could not be opened is left alone. */
const retryMs = 30_000;

/** @param host that the service listens on. @returns null: it is off, or would be open to others without a password. */
export function openDashboard(
  session: Session,
  host: string,
  closing: Closing,
  look: DashboardLook,
): DashboardOptions | null {
  const { config, log } = session;
  const { dashboard, dashboardPassword: password, trustedProxies, statementTimeoutMs } = config.service;
  const access = accessOf({ dashboard, password, trustedProxies }, host);
  if (access === null) return null;
  if (isWithinReach(access, host))
    log.warn(
      { host },
      'others may reach the address of the dashboard, which has no password: it tells this machine from them by their address',
    );
  const database = openDatabase({
    url: session.database.url,
    applicationName: 'tidemark dashboard',
    maxConnections: connections,
    statementTimeoutMs,
    silenceMs: servedSilenceMs,
    settings: ['default_transaction_read_only=on'],
    onIdleError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
  closing.add(() => database.close());
  session.metrics?.watchPool('serve_dashboard', database.pool);
  const queues = queuesOf(session, closing, look.queues);
  return {
    ...{ database, access, assets: fileURLToPath(new URL('../service/dashboard/assets', import.meta.url)) },
    graceMs: config.worker.graceMs,
    rangeLimits: config.source.rangeLimits,
    perMinute: config.source.requestsPerMinute,
    ratesMs: config.scheduler.ratesMs,
    synthetic: look.synthetic === true,
    patienceMs: statementTimeoutMs,
    queue: servedQueue(async () => {
      const { requests } = await queues();
      const [depth, workers, pausedMs, windows] = await Promise.all([
        requests.depth(),
        requests.workersPresent(),
        requests.pausedForMs(),
        requests.queuedRanges(),
      ]);
      return { depth: { ...depth, workers, pausedMs }, windows };
    }),
  };
}

function queuesOf(session: Session, closing: Closing, given: QueueBackend | undefined) {
  let opened: Promise<QueueBackend> | null = given === undefined ? null : Promise.resolve(given);
  let retryAtMs = 0;
  if (given === undefined) closing.add(async () => (await opened?.catch(() => null))?.close());
  return (): Promise<QueueBackend> => {
    if (opened !== null) return opened;
    if (Date.now() < retryAtMs) return Promise.reject(new Error('the queue could not be opened'));
    opened = session.openQueues();
    opened.catch((error: unknown) => {
      opened = null;
      retryAtMs = Date.now() + retryMs;
      const cause = error instanceof Error ? error.message : String(error);
      session.log.warn({ cause }, 'the dashboard cannot see the queue');
    });
    return opened;
  };
}
