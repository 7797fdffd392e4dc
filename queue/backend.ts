/** The queues, on Redis or PostgreSQL. */

import type { Queue } from 'bullmq';
import type { Logger } from 'pino';
import { type Processor, queueNames, type RequestJob } from './jobs.ts';
import { withBackend } from './packages.ts';
import { type PlanningJob, planningQueue } from './planning.ts';
import { dropPostgresQueue, migratePostgresQueue, postgresStore } from './postgres.ts';
import { countWorkersOn, throttleLog } from './queue-store.ts';
import { redisStore } from './redis.ts';
import { requestQueue } from './requests.ts';
import { startQueueWorker, type WorkerSettings } from './worker.ts';

export interface QueueBackendOptions {
  /** Absent: PostgreSQL, in the database that also holds the data. */
  readonly redisUrl?: string | undefined;
  readonly databaseUrl: string;
  /** Lower-case name that separates installations on one Redis or database. */
  readonly namespace: string;
  /** Trace context for each added job; undefined: none. */
  readonly carry?: (() => string | undefined) | undefined;
}

export type QueueBackend = Awaited<ReturnType<typeof openQueueBackend>>;

/** Length of BullMQ's event stream, which nothing here reads. */
const maxEvents = 1000;

/**
 * Opens the queues.
 *
 * @param options.attempts of a job before it leaves the queue.
 * @throws TidemarkError QUEUE_UNREACHABLE (Redis), DATABASE_UNREACHABLE or DATABASE_NOT_MIGRATED (PostgreSQL),
 * within seconds. Later outages of the store are waited out.
 */
export async function openQueueBackend(
  options: QueueBackendOptions & { readonly attempts: number; readonly log: Logger },
) {
  const { databaseUrl, namespace, log } = options;
  const store =
    options.redisUrl === undefined
      ? postgresStore({ url: databaseUrl, namespace })
      : redisStore({ url: options.redisUrl, namespace });
  let warning = await store.check();

  const classes = withBackend(store.connect);
  const logError = throttleLog(
    log,
    `the queue on ${store.kind === 'redis' ? 'Redis' : 'PostgreSQL'} reports an error`,
  );
  const settings = { connection: 'queue', streams: { events: { maxLen: maxEvents } } } as const;
  const requests = new classes.Queue<RequestJob['data'], void, RequestJob['name']>(
    queueNames.requests,
    settings,
  );
  const planning = new classes.Queue<PlanningJob['data'], void, PlanningJob['name']>(
    queueNames.planning,
    settings,
  );
  for (const queue of [requests, planning]) queue.on('error', logError);
  await Promise.all([requests.waitUntilReady(), planning.waitUntilReady()]);

  const worker = { classes, workerName: namespace, logError, isLost: store.isLost };
  // Commands that only read the queue do not log it.
  const warnOnce = () => {
    if (warning !== null) log.warn(warning);
    warning = null;
  };
  return Object.freeze({
    kind: store.kind,
    requests: requestQueue(requests, {
      attempts: options.attempts,
      workerName: namespace,
      carry: options.carry ?? (() => undefined),
      listsAtOnce: store.kind === 'redis',
    }),
    planning: planningQueue(planning, namespace),
    /** BullMQ's own objects, for the board only. */
    bullQueues: [requests, planning] as unknown as readonly Queue[],
    startRequestWorker(processor: Processor<RequestJob>, settings: WorkerSettings) {
      warnOnce();
      return startQueueWorker({ ...worker, queueName: queueNames.requests, processor, settings });
    },
    startPlanningWorker(processor: Processor<PlanningJob>, settings: WorkerSettings) {
      warnOnce();
      return startQueueWorker({ ...worker, queueName: queueNames.planning, processor, settings });
    },
    /** Distinct budgets of connected workers and schedulers, in requests a minute; 0: no limit. */
    async connectedBudgets() {
      const present = await Promise.all([
        countWorkersOn(requests, namespace),
        countWorkersOn(planning, namespace),
      ]);
      return [...new Set(present.flatMap(({ budgets }) => budgets))].sort((one, other) => one - other);
    },
    /** Whether the store is known to be unreachable: its commands would only fail after retries. */
    isLost: store.isLost,
    /** Close the workers first. Connections to an unreachable store are dropped. */
    async close() {
      if (store.isLost()) {
        for (const queue of [requests, planning]) void queue.disconnect().catch(() => {});
        return;
      }
      await Promise.all([requests.close(), planning.close()]);
    },
  });
}

/**
 * Creates or drops the queue's schema in PostgreSQL. Redis needs none.
 *
 * @throws TidemarkError DATABASE_UNREACHABLE.
 */
export async function migrateQueueBackend(
  options: QueueBackendOptions,
  direction: 'up' | 'down',
): Promise<void> {
  const target = { url: options.databaseUrl, namespace: options.namespace };
  // Down drops the schema even with Redis: it may be left from an earlier configuration.
  if (direction === 'down') await dropPostgresQueue(target);
  else if (options.redisUrl === undefined) await migratePostgresQueue(target);
}
