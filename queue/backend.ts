/** The queues on whichever store is configured: the same code on Redis and on PostgreSQL. */

import { type Queue, withBackend } from 'bullmq';
import type { Logger } from 'pino';
import { complaintsTo } from './complaints.ts';
import { queueNames, type RequestJob } from './jobs.ts';
import type { Processor } from './outcome.ts';
import { type PlanningJob, type PlanningQueue, planningQueue } from './planning.ts';
import { dropPostgresQueue, migratePostgresQueue, postgresStore } from './postgres.ts';
import { redisStore } from './redis.ts';
import { type RequestQueue, requestQueue } from './requests.ts';
import { type QueueWorker, startQueueWorker, type WorkerSettings } from './worker.ts';

export interface QueueBackendOptions {
  /** Absent: PostgreSQL, in the database that also holds the data. */
  readonly redisUrl?: string | undefined;
  readonly databaseUrl: string;
  /** Lower-case name; keeps installations on one Redis or in one database apart. */
  readonly namespace: string;
  /** What goes along with each job that is added, such as where it belongs in a trace; undefined: nothing. */
  readonly carry?: (() => string | undefined) | undefined;
}

export interface QueueBackend {
  readonly kind: 'redis' | 'postgres';
  readonly requests: RequestQueue;
  readonly planning: PlanningQueue;
  /** As BullMQ has them: for a board that shows BullMQ's queues, and for nobody else. */
  readonly bullQueues: readonly Queue[];
  startRequestWorker(processor: Processor<RequestJob>, settings: WorkerSettings): QueueWorker;
  startPlanningWorker(processor: Processor<PlanningJob>, settings: WorkerSettings): QueueWorker;
  /** Close the workers first. */
  close(): Promise<void>;
}

/** What BullMQ keeps of its own events, which nothing here reads. */
const keptEvents = 1000;

/**
 * Opens the queues.
 *
 * @param options.attempts attempts of a job at the source before it leaves the queue.
 * @throws TidemarkError QUEUE_UNREACHABLE (Redis), DATABASE_UNREACHABLE or DATABASE_NOT_MIGRATED (PostgreSQL),
 * within seconds. A store that goes away later is waited for.
 */
export async function openQueueBackend(
  options: QueueBackendOptions & { readonly attempts: number; readonly log: Logger },
): Promise<QueueBackend> {
  const { databaseUrl, namespace, log } = options;
  const store =
    options.redisUrl === undefined
      ? postgresStore({ url: databaseUrl, namespace })
      : redisStore({ url: options.redisUrl, namespace });
  let warning = await store.check();

  const classes = withBackend(store.connect);
  const complain = complaintsTo(
    log,
    `the queue on ${store.kind === 'redis' ? 'Redis' : 'PostgreSQL'} has trouble`,
  );
  const settings = { connection: 'queue', streams: { events: { maxLen: keptEvents } } } as const;
  const requests = new classes.Queue<RequestJob['data'], void, RequestJob['name']>(
    queueNames.requests,
    settings,
  );
  const planning = new classes.Queue<PlanningJob['data'], void, PlanningJob['name']>(
    queueNames.planning,
    settings,
  );
  for (const queue of [requests, planning]) queue.on('error', complain);
  await Promise.all([requests.waitUntilReady(), planning.waitUntilReady()]);

  const worker = { classes, workerName: namespace, complain };
  // Who only looks at the queue has no use for it.
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
    }),
    planning: planningQueue(planning, namespace),
    bullQueues: [requests, planning] as unknown as readonly Queue[],
    startRequestWorker(processor, settings) {
      warnOnce();
      return startQueueWorker({ ...worker, queueName: queueNames.requests, processor, settings });
    },
    startPlanningWorker(processor, settings) {
      warnOnce();
      return startQueueWorker({ ...worker, queueName: queueNames.planning, processor, settings });
    },
    async close() {
      await Promise.all([requests.close(), planning.close()]);
    },
  } satisfies QueueBackend);
}

/**
 * Creates what the queue needs in PostgreSQL, or drops it. On Redis there is nothing to create.
 *
 * @throws TidemarkError DATABASE_UNREACHABLE.
 */
export async function migrateQueueBackend(
  options: QueueBackendOptions,
  direction: 'up' | 'down',
): Promise<void> {
  const target = { url: options.databaseUrl, namespace: options.namespace };
  // Down drops the schema even when Redis is used now: it may be left from before.
  if (direction === 'down') await dropPostgresQueue(target);
  else if (options.redisUrl === undefined) await migratePostgresQueue(target);
}
